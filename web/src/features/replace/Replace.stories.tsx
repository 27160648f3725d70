import type { Meta, StoryObj } from '@storybook/react-vite'
import { ConfirmReplace } from './ConfirmReplace'
import { PAST, PREVIEW } from './examples'
import { PastList } from './PastReplaces'
import { PreviewList } from './PreviewList'
import { NO_RULE } from './rule'

const nothing = () => undefined
const meta: Meta = { title: 'Replace' }
export default meta

export const Preview: StoryObj = {
  render: () => (
    <PreviewList
      preview={PREVIEW}
      unticked={new Set(['1:40'])}
      current={{ documentId: 2, start: 2 }}
      onTick={nothing}
      onMore={nothing}
      onChoose={nothing}
    />
  ),
}
export const PreviewWithSkippedDocuments: StoryObj = {
  render: () => (
    <PreviewList
      preview={{ ...PREVIEW, hasMore: true, skipped: [{ documentId: 9, reason: 'unsafe' }] }}
      unticked={new Set()}
      current={undefined}
      onTick={nothing}
      onMore={nothing}
      onChoose={nothing}
    />
  ),
}
export const Past: StoryObj = { render: () => <PastList past={PAST} undoing={false} onUndo={nothing} /> }
export const Confirmation: StoryObj = {
  render: () => (
    <ConfirmReplace
      rule={{ ...NO_RULE, search: '废弃仓库', replace: '荒废工厂' }}
      counts={{ matches: 7, documents: 3 }}
      risky={false}
      onCancel={nothing}
      onConfirm={nothing}
    />
  ),
}
export const RiskyConfirmation: StoryObj = {
  render: () => (
    <ConfirmReplace
      rule={{ ...NO_RULE, search: 'very ' }}
      counts={{ matches: 1200, documents: 80 }}
      risky
      onCancel={nothing}
      onConfirm={nothing}
    />
  ),
}
