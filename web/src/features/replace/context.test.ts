import { describe, expect, test } from 'vitest'
import { endOf, startOf } from './context'

describe('the text around a match', () => {
  test('is shown as it is when the line ends there', () => {
    expect(endOf('The ')).toBe('The ')
    expect(startOf(' was never seen again.')).toBe(' was never seen again.')
  })

  test('is cut at words', () => {
    expect(endOf('ll rang without a hand on the rope. The ')).toBe('…rang without a hand on the rope. The ')
    expect(startOf(' climbed the two hundred and eleven step')).toBe(' climbed the two hundred and eleven…')
  })

  test('is cut at Chinese words and emoji too', () => {
    const line = '塔人林远在雾里听见了钟声，那不是风，他想，风不会数到七。灯塔建在最后一块礁石上，潮水😀'
    expect(endOf(line)).toMatch(/^…[^…]{30,}😀$/u)
    expect(line.endsWith(endOf(line).slice(1))).toBe(true)
    expect(startOf(line)).toMatch(/^塔[^…]{30,}…$/u)
    expect(line.startsWith(startOf(line).slice(0, -1))).toBe(true)
  })

  test('keeps a word that is longer than what is shown', () => {
    expect(endOf('x'.repeat(40))).toBe(`…${'x'.repeat(40)}`)
    expect(startOf('x'.repeat(40))).toBe(`${'x'.repeat(40)}…`)
  })
})
