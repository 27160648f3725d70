import type { Meta, StoryObj } from '@storybook/react-vite'
import { ApiFailure } from '../../api'
import { FOUND, PAGE } from './examples'
import { SearchScreen } from './SearchScreen'

const nothing = () => undefined

const meta: Meta<typeof SearchScreen> = {
  title: 'Search/Screens',
  component: SearchScreen,
  args: {
    projectId: 1,
    history: [],
    addressOf: (id) => `/projects/1/documents/${id}`,
    onOpened: nothing,
    onMore: nothing,
    onQuery: nothing,
    onRetry: nothing,
    onClearHistory: nothing,
  },
}
export default meta
type Story = StoryObj<typeof SearchScreen>

export const Start: Story = { args: { state: { screen: 'start' } } }
export const StartWithHistory: Story = { args: { state: { screen: 'start' }, history: ['lighthouse keeper', '林远'] } }
export const Searching: Story = { args: { state: { screen: 'searching' } } }
export const Results: Story = { args: { state: { screen: 'results', found: FOUND, stale: false } } }
export const NextPageFailed: Story = {
  args: {
    state: {
      screen: 'results',
      stale: false,
      found: {
        ...FOUND,
        hasMore: true,
        moreFailed: new ApiFailure('INVALID_ARGUMENT', 422, 'cursor: is unknown'),
      },
    },
  },
}
export const NoResults: Story = {
  args: { state: { screen: 'none', query: '灯塔 zzqqxx', page: { ...PAGE, results: [] } } },
}
export const Degraded: Story = {
  args: {
    state: {
      screen: 'results',
      stale: false,
      found: {
        ...FOUND,
        page: { ...PAGE, fallback: 'fts', notice: 'The embedder does not answer. Results are by keyword.' },
      },
    },
  },
}
export const Rebuilding: Story = {
  args: {
    state: {
      screen: 'results',
      stale: false,
      found: { ...FOUND, page: { ...PAGE, indexState: 'rebuilding', indexedDocuments: 420, totalDocuments: 1000 } },
    },
  },
}
export const IndexNotServing: Story = {
  args: { state: { screen: 'rebuilding', message: 'The index is being rebuilt.' } },
}
export const Timeout: Story = { args: { state: { screen: 'timeout' } } }
export const BackPressure: Story = { args: { state: { screen: 'backpressure' } } }
export const Offline: Story = { args: { state: { screen: 'offline' } } }
export const Failure: Story = { args: { state: { screen: 'error', message: 'Something went wrong (request 4f2a).' } } }
