/** Cuts the text around a match at words, so that none is shown in part. */

const AROUND = 40 // characters that the server sends; a shorter text ends with its line
const WORDS = new Intl.Segmenter(undefined, { granularity: 'word' })

const isCut = (text: string) => [...text].length >= AROUND

/** Returns the text before a match. If it is cut, it begins with an ellipsis and a whole word. */
export function endOf(leading: string): string {
  if (!isCut(leading)) return leading
  const [first] = WORDS.segment(leading)
  const part = first?.isWordLike && first.segment.length < leading.length ? first.segment.length : 0
  return `…${leading.slice(part).trimStart()}`
}

/** Returns the text after a match. If it is cut, it ends with a whole word and an ellipsis. */
export function startOf(trailing: string): string {
  if (!isCut(trailing)) return trailing
  const last = [...WORDS.segment(trailing)].at(-1)
  return `${(last?.isWordLike && last.index > 0 ? trailing.slice(0, last.index) : trailing).trimEnd()}…`
}
