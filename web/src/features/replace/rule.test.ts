import { expect, test } from 'vitest'
import { PREVIEW } from './examples'
import { counts, exclusions, keyOf, placesOf } from './rule'

test('every match has its place, in the order of the list', () => {
  expect(placesOf(PREVIEW).map(keyOf)).toEqual(['1:4', '1:40', '2:2'])
})

test('an unticked match is excluded, and a document without ticks as a whole', () => {
  expect(exclusions(PREVIEW, new Set(['1:40']))).toEqual([{ documentId: 1, start: 40 }])
  expect(exclusions(PREVIEW, new Set(['1:4', '1:40', '2:2']))).toEqual([{ documentId: 1 }, { documentId: 2 }])
  expect(exclusions(PREVIEW, new Set())).toEqual([])
})

test('a document whose other matches are on a later page is not excluded as a whole', () => {
  const [first] = PREVIEW.items
  const paged = { ...PREVIEW, items: first ? [{ ...first, matchCount: 500 }] : [] }
  expect(exclusions(paged, new Set(['1:4', '1:40']))).toEqual([
    { documentId: 1, start: 4 },
    { documentId: 1, start: 40 },
  ])
})

test('the counts are those of what is ticked', () => {
  expect(counts(PREVIEW, new Set())).toEqual({ matches: 3, documents: 2 })
  expect(counts(PREVIEW, new Set(['2:2']))).toEqual({ matches: 2, documents: 1 })
})
