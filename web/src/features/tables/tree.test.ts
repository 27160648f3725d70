import { describe, expect, test } from 'vitest'
import type { Child } from '../../api'
import { isWithin, problemOf, type Row, rowsOf, type Tree, valueIn, withLoading, without, withPage } from './tree'

const child = (pointer: string, kind: Child['kind'] = 'string'): Child => ({
  key: pointer.split('/').at(-1) ?? '',
  json_pointer: pointer,
  kind,
  size: 2,
  length: 0,
  preview: '',
})
const shown = (rows: readonly Row[]) =>
  rows.map((row) => (row.kind === 'node' ? row.child.json_pointer : `${row.rest} more`))

describe('the lazy tree', () => {
  const top = withPage(new Map(), '', 0, [child('/a', 'object'), child('/b')], 40_000)

  test('shows what is loaded and how much is left', () => {
    expect(shown(rowsOf(top))).toEqual(['/a', '/b', '39998 more'])
  })

  test('puts opened members below their parent, one level deeper', () => {
    const tree = withPage(top, '/a', 0, [child('/a/书')], 1)
    expect(rowsOf(tree).map((row) => row.level)).toEqual([1, 2, 1, 1])
    expect(shown(rowsOf(tree))).toEqual(['/a', '/a/书', '/b', '39998 more'])
  })

  test('adds further pages after those before, and a repeated page only once', () => {
    let tree: Tree = withPage(top, '', 2, [child('/c')], 3)
    tree = withPage(tree, '', 2, [child('/c')], 3)
    expect(shown(rowsOf(tree))).toEqual(['/a', '/b', '/c'])
  })

  test('closing a node closes what is below it, and nothing whose name only begins alike', () => {
    let tree: Tree = withPage(top, '/a', 0, [child('/a/x', 'list')], 1)
    tree = withPage(tree, '/a/x', 0, [child('/a/x/0')], 1)
    tree = withPage(tree, '/ab', 0, [child('/ab/0')], 1)
    expect([...without(tree, '/a').keys()]).toEqual(['', '/ab'])
  })

  test('says that a page is loading', () => {
    expect(rowsOf(withLoading(top, '')).at(-1)).toMatchObject({ kind: 'more', loading: true })
  })
})

test('a scope covers its node and those below it', () => {
  expect(isWithin('/a/b', '/a')).toBe(true)
  expect(isWithin('/a', '/a')).toBe(true)
  expect(isWithin('/ab', '/a')).toBe(false)
  expect(isWithin('/x', '')).toBe(true)
})

test('a value keeps its digits and a name with quotes does not confuse it', () => {
  const answer = '{"id":1,"name":"\\",\\"data\\":","revision":1,"data":12345678901234567890.10}'
  expect(valueIn(answer)).toBe('12345678901234567890.10')
})

test('invalid JSON is explained', () => {
  expect(problemOf('{"a": 1}')).toBeNull()
  expect(problemOf('{"a": }')).toContain('JSON')
})
