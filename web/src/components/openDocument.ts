import { createContext, useContext } from 'react'

/** A range of a document's text, in code points. */
export interface TextRange {
  readonly start: number
  readonly end: number
}

/** The document that is open in the editor, for panels beside it. */
export interface OpenDocument {
  readonly id: number
  /** Saves what was typed, and loads the document if it is not what the editor began with. */
  readonly settle: () => Promise<void>
  /** Saves what was typed. Resolves to whether everything is saved. */
  readonly save: () => Promise<boolean>
  /** Loads the document again after it was changed on the server. */
  readonly reload: () => void
  readonly mark: (ranges: readonly TextRange[], current: number) => void
}

interface Holder {
  readonly open: OpenDocument | null
  readonly setOpen: (open: OpenDocument | null) => void
}

export const OpenDocumentContext = createContext<Holder>({ open: null, setOpen: () => undefined })

export function useOpenDocument(): Holder {
  return useContext(OpenDocumentContext)
}
