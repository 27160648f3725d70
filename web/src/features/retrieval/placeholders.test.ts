import { expect, test } from 'vitest'
import { RETRIEVAL } from './examples'
import { redactedRanges } from './placeholders'

test('every placeholder is found once, counted in code points', () => {
  const [chunk] = RETRIEVAL.chunks
  if (!chunk) throw new Error('no example')
  const found = redactedRanges(chunk).map(([start, end]) => [...chunk.text].slice(start, end).join(''))
  expect(found).toEqual(['[EMAIL_1]', '[EMAIL_2]'])
})

test('a placeholder that is not in the text marks nothing', () => {
  const lost = { kind: 'phone', placeholder: '[PHONE_9]', startOffset: 0, endOffset: 3 }
  expect(redactedRanges({ text: '没有电话', redactions: [lost] })).toEqual([])
})
