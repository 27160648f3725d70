import type { Meta, StoryObj } from '@storybook/react-vite'
import type { DocumentSummary, VersionSummary } from '../../api'
import { Diff } from '../../components/Text'
import { DocumentTable } from './DocumentList'
import { VersionList } from './Versions'

const nothing = () => undefined
const meta: Meta = { title: 'Documents' }
export default meta

const DOCUMENTS: DocumentSummary[] = [
  {
    id: 1,
    projectId: 1,
    title: 'The lighthouse',
    type: 'chapter',
    format: 'tiptap',
    revision: 3,
    wordCount: 1840,
    path: null,
    updatedAt: '2026-11-14T12:00:00Z',
  },
  {
    id: 2,
    projectId: 1,
    title: '灯塔日记',
    type: 'note',
    format: 'markdown',
    revision: 1,
    wordCount: 920,
    path: 'notes/灯塔.md',
    updatedAt: '2026-11-16T12:00:00Z',
  },
  {
    id: 3,
    projectId: 1,
    title: 'A very long title that has to be cut because it does not fit into the row of the list',
    type: 'note',
    format: 'text',
    revision: 1,
    wordCount: 12,
    path: null,
    updatedAt: '2026-10-01T12:00:00Z',
  },
]
const VERSIONS: VersionSummary[] = [
  { id: 9, reason: 'replace', actor: 'owner', createdAt: '2026-11-16T12:00:00Z', parentId: 8, wordCount: 1800 },
  { id: 8, reason: 'autosave', actor: 'editor', createdAt: '2026-11-15T12:00:00Z', parentId: null, wordCount: 1795 },
]

export const List: StoryObj = {
  render: () => (
    <DocumentTable documents={DOCUMENTS} addressOf={(id) => `/${id}`} onRename={nothing} onDelete={nothing} />
  ),
}
export const Versions: StoryObj = {
  render: () => <VersionList versions={VERSIONS} onCompare={nothing} onClose={nothing} />,
}
export const NoVersions: StoryObj = {
  render: () => <VersionList versions={[]} onCompare={nothing} onClose={nothing} />,
}
export const Difference: StoryObj = {
  render: () => (
    <Diff
      changes={[
        { op: 'equal', text: `${'The harbour lay still. '.repeat(40)}The lamp was ` },
        { op: 'delete', text: 'red' },
        { op: 'insert', text: '绿色' },
        { op: 'equal', text: '.' },
      ]}
    />
  ),
}
