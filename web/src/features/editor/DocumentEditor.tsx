import { useQueryClient } from '@tanstack/react-query'
import {
  type Dispatch,
  type ReactNode,
  type RefObject,
  type SetStateAction,
  useCallback,
  useEffect,
  useRef,
  useState,
} from 'react'
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
import { NotSaved } from './NotSaved'
import { SaveMark } from './SaveMark'
import { SaveQueue, type SaveState, type Send } from './saving'

/** Lets the page around an editor save before it does something with the document on the server. */
export interface EditorHandle {
  readonly flush: () => Promise<void>
  /** The revision that was saved last. */
  readonly revision: () => number
  readonly isSaved: () => boolean
  readonly isInConflict: () => boolean
  /** Forgets what is not saved. */
  readonly discard: () => void
}

const TITLE_LENGTH = 200 // characters that the server accepts

/** A document with its title, saved while it is edited. */
export function DocumentEditor({
  document: stored,
  match,
  marks,
  current,
  actions,
  handle,
  onReload,
  onMoved,
}: {
  document: Document
  match?: Match
  marks?: readonly Match[]
  current?: number
  actions?: ReactNode
  handle?: RefObject<EditorHandle | null>
  onReload: () => void
  /** The text was saved as another document. */
  onMoved: (documentId: number) => void
}) {
  const { t } = useText()
  const mayWrite = useMay('write')
  const [{ state, error }, setState] = useState<Saved>({ state: 'saved' })
  const [title, setTitle] = useState(stored.title)
  const reader = useRef<() => unknown>(() => stored.content)
  const saving = useSaving(stored, setState)

  useEffect(() => {
    if (!handle) return
    handle.current = {
      flush: () => saving.flush(),
      revision: () => saving.baseRevision,
      isSaved: () => saving.isClean,
      isInConflict: () => saving.isInConflict,
      discard: () => saving.discard(),
    }
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
  const saveAs = async () => {
    const content = reader.current() as DocumentChange['content']
    const { data } = await api.createDocument({
      path: { project_id: stored.projectId },
      body: { title: title.trim() || stored.title, format: stored.format, content: content ?? '' },
      throwOnError: true,
    })
    saving.discard()
    onMoved(data.id)
  }
  return (
    <>
      <div className={styles.head}>
        <textarea
          className={styles.title}
          rows={1}
          value={title}
          maxLength={TITLE_LENGTH}
          readOnly={!mayWrite}
          aria-label={t('documents.titleOf')}
          onChange={(event) => rename(event.target.value.replaceAll('\n', ' '))}
          onBlur={() => title.trim() || setTitle(stored.title)}
        />
        {mayWrite && <SaveMark state={state} />}
        {actions}
      </div>
      {error && <NotSaved failure={error} onSaveAs={saveAs} />}
      <Editor document={stored} editable={mayWrite} match={match} marks={marks} current={current} onEdit={edited} />
      {state === 'conflict' && (
        <Conflict
          documentId={stored.id}
          mine={plainText(reader.current())}
          onKeepMine={(revision) => void saving.overwrite(revision)}
          onTakeTheirs={onReload}
          onSaveAs={saveAs}
        />
      )}
    </>
  )
}

interface Saved {
  readonly state: SaveState
  /** Why the last attempt failed, until one succeeds. */
  readonly error?: ApiFailure
}

function useSaving(stored: Document, setState: Dispatch<SetStateAction<Saved>>): SaveQueue {
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
    return new SaveQueue({
      send,
      revision: stored.revision,
      isConflict,
      isRefused,
      onState: (state, error) =>
        setState((before) => {
          const trying = state === 'waiting' || state === 'saving'
          const reason = error instanceof ApiFailure ? error : trying ? before.error : undefined
          return reason ? { state, error: reason } : { state }
        }),
    })
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

const PASSING = [401, 408, 429] // signing in or waiting helps

function isRefused(error: unknown): boolean {
  return error instanceof ApiFailure && error.status >= 400 && error.status < 500 && !PASSING.includes(error.status)
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
