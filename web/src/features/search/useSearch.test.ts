import { describe, expect, test } from 'vitest'
import { ApiFailure } from '../../api'
import { FOUND, PAGE, RESULTS } from './examples'
import { bodyOf, grouped, stateOf, targetOf } from './useSearch'

const IDLE = {
  error: null,
  failureReason: null,
  isPlaceholderData: false,
  isError: false,
  isFetching: false,
  hasNextPage: false,
  isFetchingNextPage: false,
  isFetchNextPageError: false,
}
const data = (page = PAGE) => ({ pages: [{ page, asked: FOUND.asked }] })
const failed = (code: string, status = 500) =>
  stateOf('x', { ...IDLE, isError: true, error: new ApiFailure(code, status, 'said') }).screen

describe('the screen of a search', () => {
  test('is the start without a query', () => expect(stateOf('', IDLE).screen).toBe('start'))

  test('keeps earlier results while newer ones are on their way', () => {
    const state = stateOf('x', { ...IDLE, data: data(), isPlaceholderData: true, isFetching: true })
    expect(state).toMatchObject({ screen: 'results', stale: true })
  })

  test('does not say that nothing was found before the answer is there', () => {
    const empty = data({ ...PAGE, results: [] })
    expect(stateOf('x', { ...IDLE, data: empty, isPlaceholderData: true }).screen).toBe('searching')
    expect(stateOf('x', { ...IDLE, data: empty }).screen).toBe('none')
  })

  test('names what went wrong', () => {
    expect(failed('OFFLINE', 0)).toBe('offline')
    expect(failed('SEARCH_TIMEOUT', 504)).toBe('timeout')
    expect(failed('INDEX_REBUILDING', 503)).toBe('rebuilding')
    expect(failed('SEARCH_BACKPRESSURE', 429)).toBe('backpressure')
    expect(failed('INTERNAL')).toBe('error')
  })

  test('keeps the results when the next page fails, and says why', () => {
    const error = new ApiFailure('INVALID_ARGUMENT', 422, 'cursor: is unknown')
    const state = stateOf('灯塔', { ...IDLE, data: data(), isError: true, isFetchNextPageError: true, error })
    expect(state).toMatchObject({ screen: 'results', found: { results: RESULTS, moreFailed: error } })
    const again = stateOf('灯塔', { ...IDLE, data: data(), isError: true, isFetching: true, error })
    expect(again).toMatchObject({ screen: 'results', found: { results: RESULTS, moreFailed: null } })
  })

  test('says that it waits while the server is busy', () => {
    const busy = new ApiFailure('SEARCH_BACKPRESSURE', 429, 'busy', { retryAfterMs: 200 })
    expect(stateOf('x', { ...IDLE, isFetching: true, failureReason: busy }).screen).toBe('backpressure')
  })
})

test('results are grouped by document in the order of the best', () => {
  const groups = grouped([...RESULTS].reverse())
  expect(groups.map((group) => [group.title, group.results.length])).toEqual([
    ['灯塔日记', 1],
    ['The lighthouse', 2],
  ])
})

test('a result leads to its first highlight, counted in code points', () => {
  expect(RESULTS.map(targetOf)).toEqual([
    [106, 112],
    [103, 109],
    [103, 105],
  ])
})

test('filters become fields of the request', () => {
  const filters = { documentId: 4, type: 'chapter', days: 7 }
  const body = bodyOf('q', { query: 'q', strategy: 'fts', filters }, { page: 2, cursor: 'c' })
  expect(body).toMatchObject({ documentIds: [4], types: ['chapter'], page: 2, cursor: 'c', strategy: 'fts' })
  expect(body.updatedAfter).toMatch(/^\d{4}-\d\d-\d\d$/)
})
