import { composeStories, type Meta } from '@storybook/react-vite'
import { render } from '@testing-library/react'
import axe from 'axe-core'
import type { ComponentType } from 'react'
import { describe, expect, test } from 'vitest'
import { Frame } from './testing/Frame'

type StoryFile = { default: Meta }
const files = import.meta.glob<StoryFile>('./**/*.stories.tsx', { eager: true })

// Colours need a real browser; the browser tests check them. A story is a part of a page, not a page.
const RULES = { 'color-contrast': { enabled: false }, region: { enabled: false } }

describe.each(Object.entries(files))('%s', (_, file) => {
  const stories = composeStories(file as Parameters<typeof composeStories>[0]) as Record<string, ComponentType>
  test.each(Object.entries(stories))(
    '%s has content in both languages and no accessibility violation',
    async (_, Story) => {
      const shown = (['en', 'zh'] as const).map((language) => {
        const { container, unmount } = render(
          <Frame language={language}>
            <Story />
          </Frame>,
        )
        const text = document.body.innerHTML.replace(/_r_\w+_/g, '')
        return { container, unmount, text }
      })
      expect(shown[0]?.text).not.toBe('')
      expect(shown[1]?.text).not.toBe(shown[0]?.text)
      shown[0]?.unmount()
      const found = await axe.run(document.body, { rules: RULES })
      expect(found.violations.map((each) => `${each.id}: ${each.nodes[0]?.html}`)).toEqual([])
    },
  )
})
