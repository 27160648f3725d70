import type { Meta, StoryObj } from '@storybook/react-vite'
import { ApiFailure } from '../../api'
import { Failed, Loading } from '../../components/Screen'
import { ProjectList } from './Projects'

const meta: Meta = { title: 'Projects' }
export default meta

export const List: StoryObj = {
  render: () => (
    <ProjectList
      projects={[
        { id: 1, name: 'Library', created_at: '2026-11-14T12:00:00Z' },
        { id: 2, name: '小说', created_at: '2026-11-01T12:00:00Z' },
      ]}
      addressOf={(id) => `/projects/${id}`}
      onDelete={() => undefined}
    />
  ),
}
export const IsLoading: StoryObj = { render: () => <Loading /> }
export const Offline: StoryObj = {
  render: () => <Failed error={new ApiFailure('OFFLINE', 0, 'no answer')} onRetry={() => undefined} />,
}
export const NotFound: StoryObj = { render: () => <Failed error={new ApiFailure('NOT_FOUND', 404, 'none')} /> }
