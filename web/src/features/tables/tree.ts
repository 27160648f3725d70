/** A tree of JSON nodes whose members are fetched when they are opened, a page at a time. */
import type { Child } from '../../api'

export const PAGE_SIZE = 200

export interface Opened {
  readonly children: readonly Child[]
  readonly count: number
  readonly loading: boolean
}

/** The opened nodes, by JSON pointer. */
export type Tree = ReadonlyMap<string, Opened>

export type Row =
  | {
      readonly kind: 'node'
      readonly child: Child
      readonly level: number
      readonly position: number
      readonly siblings: number
      readonly opened: boolean
    }
  | {
      readonly kind: 'more'
      readonly parent: string
      readonly level: number
      readonly rest: number
      readonly loading: boolean
    }

export const isContainer = (child: Child): boolean => child.kind === 'object' || child.kind === 'list'

/** Returns the visible rows, from top to bottom. */
export function rowsOf(tree: Tree, pointer = '', level = 1): Row[] {
  const opened = tree.get(pointer)
  if (!opened) return []
  const rows: Row[] = []
  opened.children.forEach((child, index) => {
    const isOpen = tree.has(child.json_pointer) && isContainer(child)
    rows.push({ kind: 'node', child, level, position: index + 1, siblings: opened.count, opened: isOpen })
    if (isOpen) for (const row of rowsOf(tree, child.json_pointer, level + 1)) rows.push(row)
  })
  const rest = opened.count - opened.children.length
  if (rest > 0 || opened.loading) rows.push({ kind: 'more', parent: pointer, level, rest, loading: opened.loading })
  return rows
}

/** Returns the visible rows below and with the root, which is a row of its own. */
export function rowsFrom(root: Child | null, tree: Tree): Row[] {
  if (!root) return rowsOf(tree)
  const opened = tree.has('') && isContainer(root)
  const first: Row = { kind: 'node', child: root, level: 1, position: 1, siblings: 1, opened }
  return opened ? [first, ...rowsOf(tree, '', 2)] : [first]
}

/** Returns the member of an opened node that has a pointer. */
export function childAt(tree: Tree, pointer: string): Child | undefined {
  const parent = pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')))
  return tree.get(parent)?.children.find((each) => each.json_pointer === pointer)
}

/** Adds a page of members. */
export function withPage(tree: Tree, pointer: string, offset: number, children: readonly Child[], count: number): Tree {
  const before = tree.get(pointer)?.children.slice(0, offset) ?? []
  return new Map(tree).set(pointer, { children: [...before, ...children], count, loading: false })
}

export function withLoading(tree: Tree, pointer: string): Tree {
  const { children = [], count = 0 } = tree.get(pointer) ?? {}
  return new Map(tree).set(pointer, { children, count, loading: true })
}

/** Closes a node and everything below it. */
export function without(tree: Tree, pointer: string): Tree {
  return new Map([...tree].filter(([each]) => each !== pointer && !each.startsWith(`${pointer}/`)))
}

/** Returns whether a pointer is at or below a scope. */
export function isWithin(pointer: string, scope: string): boolean {
  return scope === '' || pointer === scope || pointer.startsWith(`${scope}/`)
}

/** Returns the JSON text of the value in an answer, byte for byte, so that large numbers keep their digits. */
export function valueIn(answer: string): string {
  const mark = ',"data":'
  return answer.slice(answer.indexOf(mark) + mark.length, -1)
}

/** Returns what is wrong with a JSON text, or null. */
export function problemOf(text: string): string | null {
  try {
    JSON.parse(text)
    return null
  } catch (error) {
    if (error instanceof SyntaxError) return error.message
    throw error
  }
}
