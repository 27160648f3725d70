import type { RetrievedChunk } from '../../api'

/** Returns the ranges, in code points, of the placeholders that stand for private values in a passage. */
export function redactedRanges(chunk: Pick<RetrievedChunk, 'text' | 'redactions'>): [number, number][] {
  const ranges: [number, number][] = []
  let from = 0
  for (const { placeholder } of chunk.redactions) {
    const at = chunk.text.indexOf(placeholder, from)
    if (at < 0) continue
    const start = [...chunk.text.slice(0, at)].length
    ranges.push([start, start + [...placeholder].length])
    from = at + placeholder.length
  }
  return ranges
}
