/** Returns whether a title has all words of a text, in any case and order, also as parts of words. */
export function hasWords(text: string): (title: string) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return (title) => words.every((word) => title.toLowerCase().includes(word))
}
