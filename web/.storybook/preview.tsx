import type { Preview } from '@storybook/react-vite'
import '../src/app/tokens.css'
import '../src/app/base.css'
import { Frame } from '../src/testing/Frame'

const preview: Preview = {
  globalTypes: {
    language: { toolbar: { title: 'Language', items: ['en', 'zh'] } },
    theme: { toolbar: { title: 'Theme', items: ['light', 'dark'] } },
  },
  initialGlobals: { language: 'en', theme: 'light' },
  decorators: [
    (Story, { globals }) => (
      <Frame language={globals.language} theme={globals.theme}>
        <Story />
      </Frame>
    ),
  ],
}

export default preview
