import { expect, test } from 'vitest'
import { bytes, languageOf, relativeTime } from './format'

const NOW = Date.parse('2026-11-17T12:00:00Z')

test.each([
  ['2026-11-17T11:59:50Z', 'en', 'now'],
  ['2026-11-17T11:55:00Z', 'en', '5 minutes ago'],
  ['2026-11-16T11:00:00Z', 'en', 'yesterday'],
  ['2026-11-14T12:00:00Z', 'zh', '3天前'],
  ['2024-11-14T12:00:00Z', 'en', '2 years ago'],
  ['2027-01-01T00:00:00Z', 'en', 'now'],
])('%s in %s is %s', (time, language, expected) => {
  expect(relativeTime(time, language, NOW)).toBe(expected)
})

test('sizes have the unit that fits', () => {
  expect(bytes(52_400_000, 'en')).toBe('52 MB')
  expect(bytes(1_430, 'en')).toBe('1.4 kB')
  expect(bytes(12, 'en')).toBe('12 B')
})

test('a text is in the language of most of its characters', () => {
  expect(languageOf('“That is no wind,” said 林远.')).toBe('en')
  expect(languageOf('“那不是风，”他说。OK')).toBe('zh')
  expect(languageOf('')).toBe('en')
})
