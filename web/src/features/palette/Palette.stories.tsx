import type { Meta, StoryObj } from '@storybook/react-vite'
import { Palette } from './Palette'

const meta: Meta = { title: 'Palette' }
export default meta

const nothing = () => undefined

export const Commands: StoryObj = {
  render: () => (
    <Palette
      projectId={1}
      documents={[]}
      recent={[]}
      commands={[{ id: 'search', label: 'Search', icon: 'search', shortcut: 'Ctrl Shift F', run: nothing }]}
      onDocument={nothing}
      onMatch={nothing}
      onClose={nothing}
    />
  ),
}
