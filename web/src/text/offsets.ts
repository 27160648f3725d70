/** The border between the server's offsets (code points) and JavaScript's (UTF-16 units). */

/** Returns UTF-16 positions for ascending or unordered code-point offsets of a text. Offsets past the end are clamped. */
export function toUtf16(text: string, offsets: readonly number[]): number[] {
  const order = offsets.map((_, index) => index).sort((a, b) => (offsets[a] ?? 0) - (offsets[b] ?? 0))
  const found = new Array<number>(offsets.length).fill(0)
  let points = 0
  let units = 0
  for (const index of order) {
    const wanted = offsets[index] ?? 0
    while (points < wanted && units < text.length) {
      units += isPair(text, units) ? 2 : 1
      points += 1
    }
    found[index] = units
  }
  return found
}

/** Returns the code-point offset of a UTF-16 position. */
export function toCodePoints(text: string, position: number): number {
  const end = Math.min(position, text.length)
  let points = 0
  for (let units = 0; units < end; units += isPair(text, units) ? 2 : 1) points += 1
  return points
}

function isPair(text: string, at: number): boolean {
  const high = text.charCodeAt(at)
  if (high < 0xd800 || high > 0xdbff) return false
  const low = text.charCodeAt(at + 1)
  return low >= 0xdc00 && low <= 0xdfff
}

export interface Piece {
  readonly text: string
  readonly marked: boolean
  readonly start: number
}

/** Cuts a text into marked and unmarked pieces by code-point ranges. Ranges may touch or overlap. */
export function pieces(text: string, ranges: readonly (readonly number[])[]): Piece[] {
  const bounds = toUtf16(
    text,
    ranges.flatMap((range) => [range[0] ?? 0, range[1] ?? 0]),
  )
  const pairs = ranges
    .map((_, index): [number, number] => [bounds[2 * index] ?? 0, bounds[2 * index + 1] ?? 0])
    .sort((a, b) => a[0] - b[0])
  const cut: Piece[] = []
  let at = 0
  for (const [from, to] of pairs) {
    const start = Math.max(from, at)
    if (to <= start) continue
    if (start > at) cut.push({ text: text.slice(at, start), marked: false, start: at })
    cut.push({ text: text.slice(start, to), marked: true, start })
    at = to
  }
  if (at < text.length) cut.push({ text: text.slice(at), marked: false, start: at })
  return cut
}
