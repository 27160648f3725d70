import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { getDocumentOptions } from '../api'
import { IconButton } from '../components/Button'
import { type TextRange, useOpenDocument } from '../components/openDocument'
import { useNavigateTo } from '../components/PageLink'
import { Failed, Loading } from '../components/Screen'
import { Versions } from '../features/documents/Versions'
import type { EditorHandle } from '../features/editor/DocumentEditor'
import { useText } from '../i18n/language'
import { address } from './addresses'
import styles from './document.module.css'
import { LeaveGuard } from './LeaveGuard'
import { remember } from './recent'

const DocumentEditor = lazy(() =>
  import('../features/editor/DocumentEditor').then((module) => ({ default: module.DocumentEditor })),
)

export function DocumentPage() {
  const { documentId } = useParams({ from: '/projects/$projectId/documents/$documentId' })
  return <OneDocument key={documentId} />
}

function OneDocument() {
  const { t } = useText()
  const navigate = useNavigateTo()
  const { projectId, documentId } = useParams({ from: '/projects/$projectId/documents/$documentId' })
  const { start, end } = useSearch({ from: '/projects/$projectId/documents/$documentId' })
  const id = Number(documentId)
  const stored = useQuery({
    ...getDocumentOptions({ path: { document_id: id } }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  const [versions, setVersions] = useState(false)
  const [loads, setLoads] = useState(0)
  const editor = useRef<EditorHandle | null>(null)
  const title = stored.data?.title
  const { refetch } = stored
  const reload = useCallback(async () => {
    const { isSuccess } = await refetch()
    if (isSuccess) setLoads((count) => count + 1)
  }, [refetch])
  const save = useCallback(async () => {
    await editor.current?.flush()
    return editor.current?.isSaved() ?? true
  }, [])

  const [marks, setMarks] = useState<{ ranges: readonly TextRange[]; current: number }>({ ranges: [], current: -1 })
  const { setOpen } = useOpenDocument()
  const revision = useRef(0)
  const [match, setMatch] = useState<TextRange>()
  const settle = useCallback(async () => {
    await save()
    if (!editor.current || editor.current.revision() === revision.current) return
    const { data } = await refetch()
    const edited = editor.current
    // An answer that is older than the editor, or words typed meanwhile: then the editor keeps its text.
    if (data && edited?.isSaved() && data.revision >= edited.revision()) setLoads((count) => count + 1)
  }, [refetch, save])
  useEffect(() => {
    if (start === undefined || end === undefined) return
    let current = true // places in the text are those of the saved text
    void settle().then(() => current && setMatch({ start, end }))
    return () => {
      current = false
    }
  }, [start, end, settle])
  useEffect(() => {
    const mark = (ranges: readonly TextRange[], current: number) => setMarks({ ranges, current })
    setOpen({ id, settle, save, reload: () => void reload(), mark })
    return () => setOpen(null)
  }, [id, reload, save, settle, setOpen])
  revision.current = stored.data?.revision ?? 0

  useEffect(() => {
    if (title === undefined) return
    remember(Number(projectId), id)
    document.title = `${title} · Findspot`
    return () => {
      document.title = 'Findspot'
    }
  }, [title, id, projectId])

  if (stored.isPending) return <Loading />
  if (!stored.data) return <Failed error={stored.error} onRetry={() => void stored.refetch()} />
  const openVersions = async () => {
    await save()
    setVersions((open) => !open)
  }
  return (
    <div className={styles.page} data-versions={versions}>
      <LeaveGuard editor={editor} />
      <article className={styles.article}>
        <Suspense fallback={<Loading />}>
          <DocumentEditor
            key={`${id}:${loads}`}
            document={stored.data}
            match={match}
            marks={marks.ranges}
            current={marks.current}
            handle={editor}
            onReload={() => void reload()}
            onMoved={(moved) => navigate(address(Number(projectId)).document(moved))}
            actions={
              <IconButton
                icon="history"
                label={t('versions.title')}
                aria-expanded={versions}
                onClick={() => void openVersions()}
              />
            }
          />
        </Suspense>
      </article>
      {versions && (
        <aside className={styles.aside}>
          <Versions documentId={id} save={save} onClose={() => setVersions(false)} onRestored={() => void reload()} />
        </aside>
      )}
    </div>
  )
}
