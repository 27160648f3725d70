import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { ApiFailure, api, type Child, type JsonValue } from '../../api'
import { Button } from '../../components/Button'
import { Actions } from '../../components/Dialog'
import { AreaField } from '../../components/Field'
import { Badge, Failed, Loading, Notice } from '../../components/Screen'
import { useMay } from '../../components/session'
import { CodeBox, CopyButton, Soft } from '../../components/Text'
import { useToast } from '../../components/Toast'
import { useText } from '../../i18n/language'
import { bytes } from '../../text/format'
import styles from './tables.module.css'
import { isContainer, problemOf, valueIn } from './tree'

const EDITABLE = 200_000 // bytes

/** One node of a table: its pointer, its size, the tools that search it, and its value. */
export function NodePanel({
  tableId,
  revision,
  node,
  draft,
  tools,
  onDraft,
  onCreateTool,
  onRefresh,
}: {
  tableId: number
  revision: number
  node: Child
  draft: string | undefined
  tools: readonly string[]
  onDraft: (text: string | undefined) => void
  onCreateTool: () => void
  onRefresh: () => Promise<void>
}) {
  const { t, language } = useText()
  const mayWrite = useMay('write')
  return (
    <div className={styles.nodePanel}>
      <div>
        <div className={styles.pointer}>
          <code>{node.json_pointer || t('tables.root')}</code>
          <CopyButton text={node.json_pointer} label={t('tables.copyPointer')} />
        </div>
        <Soft>
          {t(`kind.${node.kind}`)} · {bytes(node.size, language)}{' '}
          {tools.map((name) => (
            <Badge key={name} tone="good">
              {name}
            </Badge>
          ))}
        </Soft>
      </div>
      {mayWrite && (
        <Button icon="search" onClick={onCreateTool}>
          {t('tables.createTool')}
        </Button>
      )}
      {node.size <= EDITABLE ? (
        <Value
          tableId={tableId}
          revision={revision}
          pointer={node.json_pointer}
          draft={draft}
          editable={mayWrite}
          onDraft={onDraft}
          onRefresh={onRefresh}
        />
      ) : (
        <TooLarge node={node} />
      )}
    </div>
  )
}

function TooLarge({ node }: { node: Child }) {
  const { t, language } = useText()
  const size = bytes(node.size, language)
  if (isContainer(node)) return <Notice tone="info">{t('tables.tooLarge', { size })}</Notice>
  return (
    <>
      <Notice tone="info">{t('tables.tooLong', { size })}</Notice>
      {node.preview && <CodeBox label={t('tables.value')}>{node.preview}</CodeBox>}
    </>
  )
}

function Value({
  tableId,
  revision,
  pointer,
  draft,
  editable,
  onDraft,
  onRefresh,
}: {
  tableId: number
  revision: number
  pointer: string
  draft: string | undefined
  editable: boolean
  onDraft: (text: string | undefined) => void
  onRefresh: () => Promise<void>
}) {
  const { t } = useText()
  const path = { table_id: tableId }
  const query = { json_pointer: pointer }
  const queries = useQueryClient()
  const value = useQuery({
    queryKey: ['value', tableId, pointer, revision],
    queryFn: async ({ signal }) => {
      const { data } = await api.getTable({ path, query, signal, parseAs: 'text', throwOnError: true })
      return valueIn(data as unknown as string)
    },
    placeholderData: keepPreviousData,
  })
  if (value.isPending) return <Loading />
  if (value.isError) return <Failed error={value.error} onRetry={() => void value.refetch()} />
  const save = async (text: string) => {
    try {
      const { data } = await api.putTableData({
        path,
        query,
        headers: { 'If-Match': String(revision) },
        body: text as JsonValue,
        bodySerializer: (body: unknown) => String(body), // as typed: large numbers keep their digits
        throwOnError: true,
      })
      queries.setQueryData(['value', tableId, pointer, data.revision], text)
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.code !== 'PRECONDITION_FAILED') throw error
      await onRefresh()
      throw new Error(t('tables.changed'))
    }
    await onRefresh()
  }
  return <ValueEditor value={value.data} draft={draft} editable={editable} onDraft={onDraft} onSave={save} />
}

export function ValueEditor({
  value,
  draft,
  editable,
  onDraft,
  onSave,
}: {
  value: string
  /** What was typed and not saved. */
  draft: string | undefined
  editable: boolean
  onDraft: (text: string | undefined) => void
  onSave: (text: string) => Promise<void>
}) {
  const { t } = useText()
  const toast = useToast()
  const text = draft ?? value
  const problem = problemOf(text)
  const save = useMutation({
    mutationFn: onSave,
    onSuccess: (_, saved) => {
      if (latest.current === saved) onDraft(undefined) // and not typed on since
      toast({ text: t('tables.saved') })
    },
  })
  const latest = useRef(draft)
  latest.current = draft
  if (!editable) return <CodeBox label={t('tables.value')}>{value}</CodeBox>
  return (
    <>
      <AreaField
        label={t('tables.value')}
        value={text}
        onChange={(typed) => onDraft(typed === value ? undefined : typed)}
        rows={12}
        code
        error={problem ? t('tables.invalid', { problem }) : save.error?.message}
      />
      <Actions>
        <Button
          disabled={draft === undefined}
          onClick={() => {
            save.reset()
            onDraft(undefined)
          }}
        >
          {t('tables.revert')}
        </Button>
        <Button
          variant="primary"
          disabled={draft === undefined || problem !== null || save.isPending}
          onClick={() => save.mutate(text)}
        >
          {t('save')}
        </Button>
      </Actions>
    </>
  )
}
