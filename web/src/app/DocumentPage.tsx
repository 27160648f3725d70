import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { getDocumentOptions } from '../api'
import { IconButton } from '../components/Button'
import { type TextRange, useOpenDocument } from '../components/openDocument'
import { Failed, Loading } from '../components/Screen'
import { Versions } from '../features/documents/Versions'
import type { EditorHandle } from '../features/editor/DocumentEditor'
import { useText } from '../i18n/language'
import styles from './document.module.css'
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
  const reload = useCallback(() => {
    void refetch().then(() => setLoads((count) => count + 1))
  }, [refetch])

  const [marks, setMarks] = useState<{ ranges: readonly TextRange[]; current: number }>({ ranges: [], current: -1 })
  const { setOpen } = useOpenDocument()
  const revision = useRef(0)
  const [match, setMatch] = useState<TextRange>()
  const settle = useCallback(async () => {
    await editor.current?.flush()
    if (!editor.current || editor.current.revision() === revision.current) return
    await refetch()
    setLoads((count) => count + 1)
  }, [refetch])
  useEffect(() => {
    if (start === undefined || end === undefined) return
    let current = true // places in the text are those of the saved text
    void settle().then(() => current && setMatch({ start, end }))
    return () => {
      current = false
    }
  }, [start, end, settle])
  useEffect(() => {
    setOpen({ id, settle, reload, mark: (ranges, current) => setMarks({ ranges, current }) })
    return () => setOpen(null)
  }, [id, reload, settle, setOpen])
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
  if (stored.isError) return <Failed error={stored.error} onRetry={() => void stored.refetch()} />
  const openVersions = async () => {
    await editor.current?.flush()
    setVersions((open) => !open)
  }
  return (
    <div className={styles.page} data-versions={versions}>
      <article className={styles.article}>
        <Suspense fallback={<Loading />}>
          <DocumentEditor
            key={`${id}:${loads}`}
            document={stored.data}
            match={match}
            marks={marks.ranges}
            current={marks.current}
            handle={editor}
            onReload={reload}
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
          <Versions documentId={id} onClose={() => setVersions(false)} onRestored={reload} />
        </aside>
      )}
    </div>
  )
}
