import { expect, test } from 'vitest'
import * as stories from './SearchScreen.stories'
import type { SearchState } from './useSearch'

const SCREENS: Record<SearchState['screen'], true> = {
  start: true,
  searching: true,
  results: true,
  none: true,
  rebuilding: true,
  timeout: true,
  backpressure: true,
  offline: true,
  error: true,
}

// scenario: 004.fts.panel-stories
test('every screen of the search panel has a story', () => {
  const shown = Object.values(stories).flatMap((story) =>
    'args' in story && 'state' in (story.args ?? {}) ? [story] : [],
  )
  const named = shown.map((story) => (story as { args: { state: SearchState } }).args.state.screen)
  expect(new Set(named)).toEqual(new Set(Object.keys(SCREENS)))
})
