import { type Content, Extension, type Extensions, type Editor as TipTap } from '@tiptap/core'
import { Fragment, Slice } from '@tiptap/pm/model'
import { Plugin } from '@tiptap/pm/state'
import { EditorContent, useEditor } from '@tiptap/react'
import StarterKit from '@tiptap/starter-kit'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { Document } from '../../api'
import { Notice } from '../../components/Screen'
import { useText } from '../../i18n/language'
import { languageOf } from '../../text/format'
import { toUtf16 } from '../../text/offsets'
import styles from './editor.module.css'
import { CARET_MARGIN, caretIsVisible, type Mark, Marking, scrollToMark, setMarks } from './marking'
import { contentAsLines, inSource, linesAsContent, type Range, rangeIn, runsOf } from './positions'
import { Toolbar } from './Toolbar'

/** A match by code points of the document's text, as the server counts. */
export interface Match {
  readonly start: number
  readonly end: number
}

/** Pasted text keeps its empty lines, and copied text has one line break per line. */
const Lines = Extension.create({
  name: 'lines',
  addProseMirrorPlugins() {
    const { schema } = this.editor
    return [
      new Plugin({
        props: {
          clipboardTextParser: (text) => {
            const paragraph = schema.nodes.paragraph
            if (!paragraph) return Slice.empty
            const lines = text.replace(/\r\n?/g, '\n').split('\n')
            const nodes = lines.map((line) => paragraph.create(null, line ? schema.text(line) : null))
            return new Slice(Fragment.from(nodes), 1, 1)
          },
          clipboardTextSerializer: (slice) => slice.content.textBetween(0, slice.content.size, '\n'),
        },
      }),
    ]
  },
})

const RICH: Extensions = [StarterKit.configure({ link: { openOnClick: false } }), Marking]
const PLAIN: Extensions = [
  StarterKit.configure({
    blockquote: false,
    bold: false,
    bulletList: false,
    code: false,
    codeBlock: false,
    hardBreak: false,
    heading: false,
    horizontalRule: false,
    italic: false,
    link: false,
    listItem: false,
    listKeymap: false,
    orderedList: false,
    strike: false,
    trailingNode: false,
    underline: false,
  }),
  Lines,
  Marking,
]

/** Reads the content of an editor in the format that the document is stored in. */
function readerOf(editor: TipTap, rich: boolean): () => unknown {
  return () => (rich ? editor.getJSON() : contentAsLines(editor.state.doc))
}

/** The editor of one document. Mount it anew for another document or revision. */
export function Editor({
  document: stored,
  editable,
  match,
  marks = [],
  current = -1,
  onEdit,
}: {
  document: Document
  editable: boolean
  match?: Match
  marks?: readonly Match[]
  current?: number
  onEdit: (read: () => unknown) => void
}) {
  const { t } = useText()
  const rich = stored.format === 'tiptap'
  const [unknown, setUnknown] = useState(false)
  const latest = useRef(onEdit)
  latest.current = onEdit
  const content = useMemo<Content>(
    () => (rich ? (stored.content as Content) : linesAsContent(String(stored.content))),
    [rich, stored.content],
  )
  const editor = useEditor({
    extensions: rich ? RICH : PLAIN,
    content,
    editable,
    autofocus: editable && stored.text === '', // a new document waits for its first words
    injectCSS: false,
    enableContentCheck: true,
    shouldRerenderOnTransaction: false,
    onContentError: ({ disableCollaboration: _, editor: broken }) => {
      broken.setEditable(false, false)
      setUnknown(true)
    },
    onUpdate: ({ editor: changed, transaction }) => {
      if (transaction.docChanged && changed.isEditable) latest.current(readerOf(changed, rich))
    },
    editorProps: {
      handleScrollToSelection: caretIsVisible, // then there is nothing to do
      scrollThreshold: CARET_MARGIN,
      scrollMargin: CARET_MARGIN,
      attributes: {
        class: styles.text ?? '',
        lang: languageOf(stored.text),
        role: 'textbox',
        'aria-multiline': 'true',
        'aria-readonly': String(!editable),
        'aria-label': t('editor.label', { title: stored.title }),
        'data-format': stored.format,
        spellcheck: rich ? 'true' : 'false',
      },
    },
  })
  useMatch(editor, stored, match)
  useMarks(editor, stored, marks, current)
  if (unknown) {
    return (
      <div className={styles.readonly}>
        <Notice>{t('editor.unknown')}</Notice>
        <p>{stored.text}</p>
      </div>
    )
  }
  return (
    <>
      {rich && editable && editor && <Toolbar editor={editor} />}
      <EditorContent editor={editor} className={styles.sheet} />
    </>
  )
}

/** Returns where matches are in the editor. The document must not have been edited since it was loaded. */
function placesOf(editor: TipTap, stored: Document, matches: readonly Match[]): (Range | null)[] {
  const bounds = toUtf16(
    stored.text,
    matches.flatMap(({ start, end }) => [start, end]),
  )
  const source = stored.format === 'markdown' ? String(stored.content) : stored.text
  const runs = runsOf(editor.state.doc, source)
  return matches.map((_, index) => {
    const start = bounds[2 * index] ?? 0
    const end = bounds[2 * index + 1] ?? 0
    if (stored.format !== 'markdown') return rangeIn(runs, start, end)
    const found = inSource(stored.text, source, start, end)
    return found && rangeIn(runs, found[0], found[1])
  })
}

/** Scrolls to the match that the address names, with a short flash. */
function useMatch(editor: TipTap | null, stored: Document, match: Match | undefined) {
  const start = match?.start
  const end = match?.end
  useEffect(() => {
    if (!editor || start === undefined || end === undefined) return
    const [place] = placesOf(editor, stored, [{ start, end }])
    if (!place) return
    setMarks(editor.view, [{ ...place, kind: 'flash' }])
    const frame = requestAnimationFrame(() => scrollToMark(editor.view, 'flash'))
    return () => cancelAnimationFrame(frame)
  }, [editor, stored, start, end])
}

/** Draws the matches of a search in the document. */
function useMarks(editor: TipTap | null, stored: Document, marks: readonly Match[], current: number) {
  const drawn = useRef(false)
  useEffect(() => {
    if (!editor || (marks.length === 0 && !drawn.current)) return
    drawn.current = marks.length > 0
    const places = placesOf(editor, stored, marks)
    const shown: Mark[] = []
    places.forEach((place, index) => {
      if (place) shown.push({ ...place, kind: index === current ? 'current' : 'match' })
    })
    setMarks(editor.view, shown)
    const frame = requestAnimationFrame(() => scrollToMark(editor.view, 'current'))
    return () => cancelAnimationFrame(frame)
  }, [editor, stored, marks, current])
}
