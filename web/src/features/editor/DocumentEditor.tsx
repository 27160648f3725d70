import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, type RefObject, useCallback, useEffect, useRef, useState } from 'react'
import {
  ApiFailure,
  api,
  type Document,
  type DocumentChange,
  getDocumentQueryKey,
  listDocumentsQueryKey,
} from '../../api'
import { useMay } from '../../components/session'
import { useText } from '../../i18n/language'
import { Conflict } from './Conflict'
import { Editor, type Match } from './Editor'
import styles from './editor.module.css'
import { SaveMark } from './SaveMark'
import { SaveQueue, type SaveState, type Send } from './saving'

/** Lets the page around an editor save before it does something with the document on the server. */
export interface EditorHandle {
  readonly flush: () => Promise<void>
  /** The revision that was saved last. */
  readonly revision: () => number
}

/** A document with its title, saved while it is edited. */
export function DocumentEditor({
  document: stored,
  match,
  marks,
  current,
  actions,
  handle,
  onReload,
}: {
  document: Document
  match?: Match
  marks?: readonly Match[]
  current?: number
  actions?: ReactNode
  handle?: RefObject<EditorHandle | null>
  onReload: () => void
}) {
  const { t } = useText()
  const mayWrite = useMay('write')
  const [state, setState] = useState<SaveState>('saved')
  const [title, setTitle] = useState(stored.title)
  const reader = useRef<() => unknown>(() => stored.content)
  const saving = useSaving(stored, setState)

  useEffect(() => {
    if (!handle) return
    handle.current = { flush: () => saving.flush(), revision: () => saving.baseRevision }
    return () => {
      handle.current = null
    }
  }, [handle, saving])

  const edited = useCallback(
    (read: () => unknown) => {
      reader.current = read
      saving.edited(read)
    },
    [saving],
  )
  const rename = (name: string) => {
    setTitle(name)
    if (name.trim()) saving.renamed(name.trim())
  }
  return (
    <>
      <div className={styles.head}>
        <textarea
          className={styles.title}
          rows={1}
          value={title}
          readOnly={!mayWrite}
          aria-label={t('documents.titleOf')}
          onChange={(event) => rename(event.target.value.replaceAll('\n', ' '))}
          onBlur={() => title.trim() || setTitle(stored.title)}
        />
        {mayWrite && <SaveMark state={state} />}
        {actions}
      </div>
      <Editor document={stored} editable={mayWrite} match={match} marks={marks} current={current} onEdit={edited} />
      {state === 'conflict' && (
        <Conflict
          documentId={stored.id}
          mine={plainText(reader.current())}
          onKeepMine={(revision) => void saving.overwrite(revision)}
          onTakeTheirs={onReload}
        />
      )}
    </>
  )
}

function useSaving(stored: Document, onState: (state: SaveState) => void): SaveQueue {
  const queries = useQueryClient()
  const [saving] = useState(() => {
    const path = { document_id: stored.id }
    const send: Send = async (change, baseRevision) => {
      const content = change.content as DocumentChange['content']
      const body: DocumentChange = {
        baseRevision,
        reason: 'autosave',
        ...(change.title === undefined ? {} : { title: change.title }),
        ...(change.content === undefined ? {} : { content, format: stored.format }),
      }
      const { data } = await api.saveDocument({ path, body, throwOnError: true })
      void queries.invalidateQueries({ queryKey: listDocumentsQueryKey({ path: { project_id: stored.projectId } }) })
      queries.removeQueries({ queryKey: getDocumentQueryKey({ path }), type: 'inactive' })
      return data.revision
    }
    const isConflict = (error: unknown) => error instanceof ApiFailure && error.code === 'VERSION_CONFLICT'
    return new SaveQueue({ send, revision: stored.revision, isConflict, onState })
  })
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => {
      if (saving.isClean) return
      void saving.flush()
      event.preventDefault()
    }
    window.addEventListener('beforeunload', warn)
    return () => {
      window.removeEventListener('beforeunload', warn)
      void saving.flush()
    }
  }, [saving])
  return saving
}

/** Returns the characters of a content, a line for each block. */
export function plainText(content: unknown): string {
  if (typeof content === 'string') return content
  const lines: string[] = []
  const walk = (node: { type?: string; text?: string; content?: unknown[] }, line: string[]) => {
    if (node.text) line.push(node.text)
    for (const child of node.content ?? []) walk(child as typeof node, line)
    if (node.type === 'paragraph' || node.type === 'heading' || node.type === 'codeBlock') {
      lines.push(line.splice(0).join(''))
    }
  }
  walk(content as { content?: unknown[] }, [])
  return lines.join('\n')
}
