import { skipToken, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo, useRef, useState } from 'react'
import {
  api,
  createDocumentMutation,
  type DocumentSummary,
  listDocumentsOptions,
  listDocumentsQueryKey,
  saveDocumentMutation,
} from '../../api'
import { Button, IconButton } from '../../components/Button'
import { Actions, Dialog } from '../../components/Dialog'
import { Field, Form, Segments } from '../../components/Field'
import { Icon, type IconName } from '../../components/Icon'
import { PageLink, useNavigateTo } from '../../components/PageLink'
import { Failed, Loading, Page, Screen } from '../../components/Screen'
import { useMay } from '../../components/session'
import { Ago } from '../../components/Text'
import { useToast } from '../../components/Toast'
import { useEndInView } from '../../components/useEndInView'
import { useText } from '../../i18n/language'
import styles from './documents.module.css'

export const FORMAT_ICONS: Record<string, IconName> = { tiptap: 'document', markdown: 'markdown', text: 'text' }

export function Documents({ projectId, addressOf }: { projectId: number; addressOf: (id: number) => string }) {
  const { t } = useText()
  const mayWrite = useMay('write')
  const documents = useQuery(listDocumentsOptions({ path: { project_id: projectId } }))
  const [creating, setCreating] = useState(false)
  const [renaming, setRenaming] = useState<DocumentSummary | null>(null)
  const [wanted, setWanted] = useState('')
  const { gone, remove } = useDeleting(projectId)
  if (documents.isPending) return <Loading />
  if (documents.isError) return <Failed error={documents.error} onRetry={() => void documents.refetch()} />
  const all = documents.data.documents.filter((each) => !gone.has(each.id))
  const shown = all.filter((each) => each.title.toLowerCase().includes(wanted.trim().toLowerCase()))
  const create = mayWrite && (
    <Button variant="primary" icon="plus" onClick={() => setCreating(true)}>
      {t('documents.new')}
    </Button>
  )
  return (
    <Page
      title={t('nav.documents')}
      text={t('documents.count', { count: all.length })}
      actions={all.length > 0 && create}
    >
      {all.length === 0 ? (
        <Screen icon="document" title={t('documents.none')} action={create}>
          {t('documents.noneText')}
        </Screen>
      ) : (
        <>
          {all.length > 8 && (
            <Field label={t('documents.filter')} value={wanted} onChange={(event) => setWanted(event.target.value)} />
          )}
          {shown.length > 0 ? (
            <DocumentTable
              key={wanted}
              documents={shown}
              addressOf={addressOf}
              onRename={setRenaming}
              onDelete={remove}
            />
          ) : (
            <Screen icon="search" title={t('documents.noMatch')} />
          )}
        </>
      )}
      {creating && <NewDocument projectId={projectId} addressOf={addressOf} onClose={() => setCreating(false)} />}
      {renaming && <Rename document={renaming} onClose={() => setRenaming(null)} />}
    </Page>
  )
}

const NONE: ReadonlySet<number> = new Set()

/** Deletes when the offer to undo is over; until then the document is only hidden, also after leaving the page. */
function useDeleting(projectId: number) {
  const { t } = useText()
  const queries = useQueryClient()
  const toast = useToast()
  const queryKey = ['hidden documents', projectId]
  const forever = Number.POSITIVE_INFINITY
  const { data: gone = NONE } = useQuery<ReadonlySet<number>>({ queryKey, queryFn: skipToken, gcTime: forever })
  const setGone = (change: (now: ReadonlySet<number>) => ReadonlySet<number>) => {
    queries.setQueryData<ReadonlySet<number>>(queryKey, (now = NONE) => change(now))
  }
  const show = (id: number) => setGone((now) => new Set([...now].filter((each) => each !== id)))
  const remove = (document: DocumentSummary, byKeyboard: boolean) => {
    setGone((now) => new Set(now).add(document.id))
    toast({
      text: t('documents.deleted', { title: document.title }),
      focus: byKeyboard,
      action: { label: t('undo'), run: () => show(document.id) },
      onGone: () => {
        void api
          .deleteDocument({ path: { document_id: document.id }, keepalive: true, throwOnError: true })
          .then(() =>
            queries.invalidateQueries({ queryKey: listDocumentsQueryKey({ path: { project_id: projectId } }) }),
          )
          .catch(() => {
            show(document.id)
            toast({ text: t('documents.notDeleted', { title: document.title }) })
          })
      },
    })
  }
  return { gone, remove }
}

const PORTION = 100 // rows
const compare = (a: string, b: string) => Number(a > b) - Number(a < b) // quicker than by a language's rules

/** Documents, the newest first. More rows are drawn when the end comes into view. */
export function DocumentTable({
  documents,
  addressOf,
  onRename,
  onDelete,
}: {
  documents: readonly DocumentSummary[]
  addressOf: (id: number) => string
  onRename: (document: DocumentSummary) => void
  onDelete: (document: DocumentSummary, byKeyboard: boolean) => void
}) {
  const { t, language } = useText()
  const mayWrite = useMay('write')
  const newest = useMemo(() => [...documents].sort((a, b) => compare(b.updatedAt, a.updatedAt)), [documents])
  const end = useRef<HTMLDivElement>(null)
  const [drawn, setDrawn] = useState(PORTION)
  const more = useCallback(() => setDrawn((now) => now + PORTION), [])
  useEndInView(end, drawn < newest.length, more)
  return (
    <>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">{t('title')}</th>
            <th scope="col">{t('type')}</th>
            <th scope="col" className={styles.number}>
              {t('words')}
            </th>
            <th scope="col">{t('changed')}</th>
            {mayWrite && (
              <th scope="col">
                <span className={styles.hidden}>{t('actions')}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {newest.slice(0, drawn).map((document) => (
            <tr key={document.id}>
              <td>
                <PageLink to={addressOf(document.id)} className={styles.link}>
                  <Icon name={FORMAT_ICONS[document.format] ?? 'document'} />
                  <span>
                    <strong title={document.title}>{document.title}</strong>
                    {document.path && <small title={document.path}>{document.path}</small>}
                  </span>
                </PageLink>
              </td>
              <td>{document.type}</td>
              <td className={styles.number}>{document.wordCount.toLocaleString(language)}</td>
              <td>
                <Ago time={document.updatedAt} />
              </td>
              {mayWrite && (
                <td className={styles.actions}>
                  <IconButton
                    size="small"
                    icon="edit"
                    label={t('documents.rename', { title: document.title })}
                    onClick={() => onRename(document)}
                  />
                  <IconButton
                    size="small"
                    icon="trash"
                    label={t('documents.delete', { title: document.title })}
                    onClick={(event) => onDelete(document, event.detail === 0)}
                  />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      <div ref={end} />
    </>
  )
}

type Format = 'tiptap' | 'markdown' | 'text'
const EMPTY = { type: 'doc', content: [{ type: 'paragraph' }] }

function NewDocument({
  projectId,
  addressOf,
  onClose,
}: {
  projectId: number
  addressOf: (id: number) => string
  onClose: () => void
}) {
  const { t } = useText()
  const queries = useQueryClient()
  const navigate = useNavigateTo()
  const [title, setTitle] = useState('')
  const [format, setFormat] = useState<Format>('tiptap')
  const path = { project_id: projectId }
  const create = useMutation({
    ...createDocumentMutation(),
    onSuccess: async (made) => {
      await queries.invalidateQueries({ queryKey: listDocumentsQueryKey({ path }) })
      navigate(addressOf(made.id))
    },
  })
  const submit = () => {
    if (!title.trim()) return
    create.mutate({ path, body: { title: title.trim(), format, content: format === 'tiptap' ? EMPTY : '' } })
  }
  return (
    <Dialog title={t('documents.new')} onClose={onClose}>
      <Form onSubmit={submit}>
        <Field
          label={t('title')}
          value={title}
          onChange={(event) => setTitle(event.target.value)}
          error={create.error?.message}
          autoFocus
        />
        <Segments
          label={t('format')}
          value={format}
          onChange={setFormat}
          options={[
            ['tiptap', t('format.tiptap')],
            ['markdown', 'Markdown'],
            ['text', t('format.text')],
          ]}
        />
        <Actions>
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button variant="primary" type="submit" disabled={!title.trim() || create.isPending}>
            {t('create')}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  )
}

function Rename({ document, onClose }: { document: DocumentSummary; onClose: () => void }) {
  const { t } = useText()
  const queries = useQueryClient()
  const [title, setTitle] = useState(document.title)
  const save = useMutation({
    ...saveDocumentMutation(),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: listDocumentsQueryKey({ path: { project_id: document.projectId } }) })
      onClose()
    },
  })
  const submit = () => {
    if (title.trim()) save.mutate({ path: { document_id: document.id }, body: { title: title.trim() } })
  }
  return (
    <Dialog title={t('documents.rename', { title: document.title })} onClose={onClose}>
      <Form onSubmit={submit}>
        <Field
          label={t('title')}
          value={title}
          onChange={(event) => setTitle(event.target.value)}
          error={save.error?.message}
          autoFocus
        />
        <Actions>
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button variant="primary" type="submit" disabled={!title.trim() || save.isPending}>
            {t('rename')}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  )
}
