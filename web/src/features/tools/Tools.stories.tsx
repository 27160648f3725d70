import type { Meta, StoryObj } from '@storybook/react-vite'
import type { Endpoint, SearchIndex, Tool } from '../../api'
import { EndpointCard, SecretDialog } from './Endpoints'
import { IndexProgressView } from './IndexProgress'
import { ArgumentForm } from './Playground'
import { ToolList } from './Tools'

const nothing = () => undefined
const meta: Meta = { title: 'Tools' }
export default meta

const TOOL: Tool = {
  id: 7,
  tool_id: 7,
  project_id: 1,
  table_id: 1,
  type: 'search',
  name: 'search_chapters',
  description: 'Finds passages in the chapters. 在章节中查找段落。',
  json_pointer: '/chapters',
  metadata: { search_index: { status: 'indexing', chunks_count: 900 } },
  search_config: null,
  input_schema: {
    required: ['query'],
    properties: { query: { type: 'string', description: 'What to search for.' }, top_k: { type: 'integer' }, keys: {} },
  },
  output_schema: {},
  created_at: '2026-11-14T12:00:00Z',
  updated_at: '2026-11-14T12:00:00Z',
}
const INDEX: SearchIndex = {
  status: 'indexing',
  configured_at: '2026-11-14T12:00:00Z',
  indexed_at: null,
  nodes_count: 500,
  chunks_count: 900,
  indexed_chunks_count: 320,
  skipped_nodes: [],
  last_error: null,
}
const ENDPOINT: Endpoint = {
  id: 3,
  project_id: 1,
  name: 'For agents',
  url: 'http://127.0.0.1:8321/mcp/3',
  lean: false,
  reading: false,
  created_at: '2026-11-14T12:00:00Z',
  tools: [{ id: 7, tool_id: 7, name: 'search_chapters', type: 'search', enabled: true }],
}

export const List: StoryObj = {
  render: () => <ToolList tools={[TOOL]} addressOf={(id) => `/${id}`} onDelete={nothing} />,
}
export const Arguments: StoryObj = {
  render: () => <ArgumentForm schema={TOOL.input_schema} running={false} onRun={nothing} />,
}
export const Indexing: StoryObj = { render: () => <IndexProgressView index={INDEX} /> }
export const Indexed: StoryObj = { render: () => <IndexProgressView index={{ ...INDEX, status: 'ready' }} /> }
export const AnEndpoint: StoryObj = {
  render: () => (
    <EndpointCard endpoint={ENDPOINT} tools={[TOOL]} onBind={nothing} onRotate={nothing} onDelete={nothing} />
  ),
}
export const KeyShownOnce: StoryObj = {
  render: () => <SecretDialog secret={{ url: ENDPOINT.url, key: 'fsk_example' }} onClose={nothing} />,
}
