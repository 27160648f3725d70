import type { ReplacePreview } from '../../api'

/** What is replaced by what, and how it is compared. */
export interface Rule {
  readonly search: string
  readonly replace: string
  readonly caseSensitive: boolean
  readonly wholeWord: boolean
  readonly regex: boolean
  readonly preserveCase: boolean
}

export const NO_RULE: Rule = {
  search: '',
  replace: '',
  caseSensitive: false,
  wholeWord: false,
  regex: false,
  preserveCase: false,
}

export interface Place {
  readonly documentId: number
  readonly start: number
}

export const keyOf = ({ documentId, start }: Place): string => `${documentId}:${start}`

/** Returns every match of a preview, in the order of the list. */
export function placesOf(preview: ReplacePreview): Place[] {
  return preview.items.flatMap((item) =>
    item.matches.map((match) => ({ documentId: item.documentId, start: match.start })),
  )
}

/** Returns the matches that stay as they are, as the server takes them: whole documents where none is ticked. */
export function exclusions(
  preview: ReplacePreview,
  unticked: ReadonlySet<string>,
): { documentId: number; start?: number }[] {
  return preview.items.flatMap(({ documentId, matches, matchCount }) => {
    const left = matches.filter(({ start }) => unticked.has(keyOf({ documentId, start })))
    if (left.length > 0 && left.length === matchCount) return [{ documentId }]
    return left.map(({ start }) => ({ documentId, start }))
  })
}

/** Returns how many matches and documents a replace would change. */
export function counts(preview: ReplacePreview, unticked: ReadonlySet<string>): { matches: number; documents: number } {
  const emptied = exclusions(preview, unticked).filter((each) => each.start === undefined).length
  return { matches: preview.totalMatches - unticked.size, documents: preview.affectedDocuments - emptied }
}
