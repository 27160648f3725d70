import { Extension } from '@tiptap/core'
import { Plugin, PluginKey } from '@tiptap/pm/state'
import { Decoration, DecorationSet, type EditorView } from '@tiptap/pm/view'
import type { Range } from './positions'

export interface Mark extends Range {
  readonly kind: 'match' | 'current' | 'flash'
}

const KEY = new PluginKey<DecorationSet>('marking')

/** Draws marks over ranges of the document. They follow edits and are no part of the content. */
export const Marking = Extension.create({
  name: 'marking',
  addProseMirrorPlugins() {
    return [
      new Plugin<DecorationSet>({
        key: KEY,
        state: {
          init: () => DecorationSet.empty,
          apply(transaction, set) {
            const marks = transaction.getMeta(KEY) as readonly Mark[] | undefined
            if (!marks) return set.map(transaction.mapping, transaction.doc)
            return DecorationSet.create(
              transaction.doc,
              marks.map(({ from, to, kind }) => Decoration.inline(from, to, { class: `marking-${kind}` })),
            )
          },
        },
        props: { decorations: (state) => KEY.getState(state) },
      }),
    ]
  },
})

export function setMarks(view: EditorView, marks: readonly Mark[]): void {
  view.dispatch(view.state.tr.setMeta(KEY, marks).setMeta('addToHistory', false))
}

/** Scrolls to the first mark of a kind. */
export function scrollToMark(view: EditorView, kind: Mark['kind']): void {
  view.dom.querySelector(`.marking-${kind}`)?.scrollIntoView({ block: 'center', behavior: 'auto' })
}

/** Pixels around the caret that stay in view. At the top the toolbar covers the page. */
export const CARET_MARGIN = { top: 56, right: 0, bottom: 24, left: 0 }

/** Returns whether the caret is in view. ProseMirror would measure all elements around it after every key. */
export function caretIsVisible(view: EditorView): boolean {
  const page = view.dom.closest('main')?.getBoundingClientRect()
  if (!page) return false
  const caret = view.coordsAtPos(view.state.selection.head)
  return caret.top > page.top + CARET_MARGIN.top && caret.bottom < page.bottom - CARET_MARGIN.bottom
}
