import type { Meta, StoryObj } from '@storybook/react-vite'
import { ContextView } from './ContextView'
import { CONTEXT, RETRIEVAL } from './examples'
import { Passages } from './Passages'

const meta: Meta = { title: 'Retrieval' }
export default meta

export const WithRedactions: StoryObj = {
  render: () => <Passages answer={RETRIEVAL} addressOf={(id) => `/projects/1/documents/${id}`} />,
}
export const NothingRelated: StoryObj = {
  render: () => <Passages answer={{ ...RETRIEVAL, chunks: [], dropped: [], redactions: {} }} addressOf={() => '/'} />,
}
export const Context: StoryObj = { render: () => <ContextView answer={CONTEXT} /> }
