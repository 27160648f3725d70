import { describe, expect, test } from 'vitest'
import { pieces, toCodePoints, toUtf16 } from './offsets'

const MIXED = 'a😀山e\u0301𠮷z'

describe('offsets', () => {
  test('code points become UTF-16 positions across emoji, rare characters and combining marks', () => {
    expect(toUtf16(MIXED, [0, 1, 2, 3, 4, 5, 6, 7])).toEqual([0, 1, 3, 4, 5, 6, 8, 9])
  })

  test('offsets need not be in order and are clamped to the end', () => {
    expect(toUtf16(MIXED, [3, 1, 99])).toEqual([4, 1, 9])
  })

  test('both directions agree at every code point', () => {
    for (let point = 0; point <= [...MIXED].length; point += 1) {
      expect(toCodePoints(MIXED, toUtf16(MIXED, [point])[0] ?? -1)).toBe(point)
    }
  })

  test('a lone surrogate counts as one', () => {
    expect(toUtf16('\ud83dx', [1, 2])).toEqual([1, 2])
  })
})

describe('pieces', () => {
  test('a marked range after an emoji is exact', () => {
    expect(pieces('😀 林远 came', [[2, 4]]).map((piece) => [piece.text, piece.marked])).toEqual([
      ['😀 ', false],
      ['林远', true],
      [' came', false],
    ])
  })

  test('overlapping ranges keep every character once', () => {
    const cut = pieces('abcdef', [
      [1, 4],
      [3, 5],
    ])
    expect(cut.map((piece) => piece.text).join('')).toBe('abcdef')
    expect(cut.filter((piece) => piece.marked).map((piece) => piece.text)).toEqual(['bcd', 'e'])
  })

  test('no ranges leave the text whole', () => {
    expect(pieces('abc', [])).toEqual([{ text: 'abc', marked: false, start: 0 }])
  })
})
