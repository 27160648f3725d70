import type { Node } from '@tiptap/pm/model'

/** A run of characters: where it is in a text (UTF-16) and in the editor's document. */
interface Run {
  readonly at: number
  readonly position: number
  readonly length: number
}

/** Aligns the text nodes of a document with a text that contains them in the same order. */
export function runsOf(document: Node, text: string): Run[] {
  const runs: Run[] = []
  let from = 0
  document.descendants((node, position) => {
    if (!node.isText || !node.text) return true
    const at = text.indexOf(node.text, from)
    if (at < 0) return false
    runs.push({ at, position, length: node.text.length })
    from = at + node.text.length
    return false
  })
  return runs
}

export interface Range {
  readonly from: number
  readonly to: number
}

/** Returns where a range of the text is in the document, or null if no character of it is there. */
export function rangeIn(runs: readonly Run[], start: number, end: number): Range | null {
  let from: number | null = null
  let to = 0
  for (const run of runs) {
    const first = Math.max(start, run.at)
    const last = Math.min(end, run.at + run.length)
    if (first >= last) continue
    from ??= run.position + first - run.at
    to = run.position + last - run.at
  }
  return from === null ? null : { from, to }
}

/**
 * Returns where a match of the extracted text is in its Markdown source. Markup moves it, so of all places with the
 * same characters the one nearest to the expected place is taken.
 */
export function inSource(text: string, source: string, start: number, end: number): [number, number] | null {
  const wanted = text.slice(start, end)
  if (!wanted) return null
  const line = wanted.split('\n', 1)[0] ?? wanted
  const expected = text.length ? (start / text.length) * source.length : 0
  let best: number | null = null
  for (let at = source.indexOf(line); at >= 0; at = source.indexOf(line, at + 1)) {
    if (best === null || Math.abs(at - expected) < Math.abs(best - expected)) best = at
  }
  return best === null ? null : [best, best + line.length]
}

/** Returns the editor content for a text whose lines are paragraphs. */
export function linesAsContent(text: string) {
  return {
    type: 'doc',
    content: text
      .split('\n')
      .map((line) => ({ type: 'paragraph', ...(line ? { content: [{ type: 'text', text: line }] } : {}) })),
  }
}

/** Returns the text of a document whose paragraphs are lines. */
export function contentAsLines(document: Node): string {
  return document.textBetween(0, document.content.size, '\n')
}
