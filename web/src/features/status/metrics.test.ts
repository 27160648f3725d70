import { expect, test } from 'vitest'
import { boundText, quantile, searchTimes } from './metrics'

const METRICS = `# TYPE search_duration_seconds histogram
search_duration_seconds_bucket{le="0.01",project_id="1"} 3.0
search_duration_seconds_bucket{le="0.05",project_id="1"} 5.0
search_duration_seconds_bucket{le="+Inf",project_id="1"} 5.0
search_duration_seconds_bucket{le="0.01",project_id="11"} 9.0
`

test('cumulative counts become one count for each bound of this project', () => {
  expect(searchTimes(METRICS, 1)).toEqual([
    { upTo: '0.01', count: 3 },
    { upTo: '0.05', count: 2 },
    { upTo: '+Inf', count: 0 },
  ])
  expect(searchTimes(METRICS, 2)).toEqual([])
})

test('a share of the searches ended within a bound', () => {
  const times = searchTimes(METRICS, 1)
  expect(boundText(quantile(times, 0.5))).toBe('≤\u00a010\u00a0ms')
  expect(boundText(quantile(times, 0.95))).toBe('≤\u00a050\u00a0ms')
  expect(
    boundText(
      quantile(
        [
          { upTo: '2.0', count: 0 },
          { upTo: '+Inf', count: 1 },
        ],
        0.5,
      ),
    ),
  ).toBe('>\u00a02\u00a0s')
})
