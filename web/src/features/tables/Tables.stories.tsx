import type { Meta, StoryObj } from '@storybook/react-vite'
import type { Child } from '../../api'
import { ValueEditor } from './NodePanel'
import { TableList } from './Tables'
import { TreeView } from './TreeView'
import { withPage } from './tree'

const nothing = () => undefined
const meta: Meta = { title: 'Tables' }
export default meta

const child = (pointer: string, kind: Child['kind'], preview = ''): Child => ({
  key: pointer.split('/').at(-1) ?? '',
  json_pointer: pointer,
  kind,
  size: 5200,
  length: kind === 'string' ? preview.length : null,
  preview,
})
const TOP = withPage(new Map(), '', 0, [child('/chapters', 'list'), child('/书名', 'string', '灯塔')], 40_000)
const TREE = withPage(
  TOP,
  '/chapters',
  0,
  [child('/chapters/0', 'object'), child('/chapters/1', 'string', 'The fog came in.')],
  2,
)

export const Tree: StoryObj = {
  render: () => (
    <TreeView
      tree={TREE}
      root={child('', 'object')}
      label="Atlas"
      selected="/书名"
      isIndexed={(each) => each.kind === 'string'}
      isEdited={(each) => each.json_pointer === '/书名'}
      onSelect={nothing}
      onOpen={nothing}
      onClose={nothing}
      onMore={nothing}
    />
  ),
}
export const List: StoryObj = {
  render: () => (
    <TableList
      tables={[
        {
          id: 1,
          project_id: 1,
          name: 'Atlas',
          revision: 4,
          size: 52_000_000,
          path: null,
          updated_at: '2026-11-14T12:00:00Z',
        },
      ]}
      addressOf={(id) => `/${id}`}
      onDelete={nothing}
    />
  ),
}
export const Value: StoryObj = {
  render: () => (
    <ValueEditor value='{"n": 1}' draft={undefined} editable onDraft={nothing} onSave={async () => undefined} />
  ),
}
export const InvalidValue: StoryObj = {
  render: () => (
    <ValueEditor value='{"n": 1}' draft='{"n": }' editable onDraft={nothing} onSave={async () => undefined} />
  ),
}
