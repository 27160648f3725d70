import type { Meta, StoryObj } from '@storybook/react-vite'
import type { ProjectStatus } from '../../api'
import { KeyList } from './Keys'
import { StatusView } from './Status'

const meta: Meta = { title: 'Status' }
export default meta

const STATUS: ProjectStatus = {
  project_id: 1,
  tables: 2,
  documents: 1000,
  chunks: 200_000,
  vectors: 198_000,
  evicted_vectors: 0,
  disk: { table_bytes: 52_000_000, index_bytes: 310_000_000 },
  index_state: 'rebuilding',
  indexed_documents: 420,
  namespaces: [
    {
      namespace: 'documents-1',
      status: 'indexing',
      step: 'rebuilding',
      progress: { done: 84_000, total: 200_000, chunks_per_second: 6200, percent: 42, seconds_left: 19 },
    },
  ],
  last_errors: [{ namespace: 'documents-1', message: 'The embedder does not answer.' }],
}
const TIMES = [
  { upTo: '0.01', count: 310 },
  { upTo: '0.05', count: 42 },
  { upTo: '0.1', count: 3 },
  { upTo: '+Inf', count: 0 },
]

export const Rebuilding: StoryObj = { render: () => <StatusView status={STATUS} times={TIMES} /> }
export const Ready: StoryObj = {
  render: () => (
    <StatusView status={{ ...STATUS, index_state: 'ready', namespaces: [], last_errors: [] }} times={null} />
  ),
}
export const Keys: StoryObj = {
  render: () => (
    <KeyList
      keys={[{ id: 1, name: 'reader', role: 'read', hint: 'fsk_ab12…', created_at: '2026-11-14T12:00:00Z' }]}
      onRevoke={() => undefined}
    />
  ),
}
