import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Child, type JsonValue } from '../../api'
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
import { problemOf, valueIn } from './tree'

const EDITABLE = 200_000 // bytes

/** One node of a table: its pointer, its size, the tools that search it, and its value. */
export function NodePanel({
  tableId,
  revision,
  node,
  tools,
  onCreateTool,
  onSaved,
}: {
  tableId: number
  revision: number
  node: Child
  tools: readonly string[]
  onCreateTool: () => void
  onSaved: () => void
}) {
  const { t, language } = useText()
  const mayWrite = useMay('write')
  const small = node.size <= EDITABLE
  return (
    <div className={styles.nodePanel}>
      <div>
        <div className={styles.pointer}>
          <code>{node.json_pointer || '/'}</code>
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
      {small ? (
        <Value
          tableId={tableId}
          revision={revision}
          pointer={node.json_pointer}
          editable={mayWrite}
          onSaved={onSaved}
        />
      ) : (
        <Notice tone="info">{t('tables.tooLarge', { size: bytes(node.size, language) })}</Notice>
      )}
    </div>
  )
}

function Value({
  tableId,
  revision,
  pointer,
  editable,
  onSaved,
}: {
  tableId: number
  revision: number
  pointer: string
  editable: boolean
  onSaved: () => void
}) {
  const path = { table_id: tableId }
  const query = { json_pointer: pointer }
  const value = useQuery({
    queryKey: ['value', tableId, pointer, revision],
    queryFn: async ({ signal }) => {
      const { data } = await api.getTable({ path, query, signal, parseAs: 'text', throwOnError: true })
      return valueIn(data as unknown as string)
    },
    gcTime: 0,
  })
  if (value.isPending) return <Loading />
  if (value.isError) return <Failed error={value.error} onRetry={() => void value.refetch()} />
  return (
    <ValueEditor
      key={value.data}
      value={value.data}
      editable={editable}
      onSave={async (text) => {
        await api.putTableData({
          path,
          query,
          headers: { 'If-Match': String(revision) },
          body: text as JsonValue,
          bodySerializer: (body: unknown) => String(body), // as typed: large numbers keep their digits
          throwOnError: true,
        })
        onSaved()
      }}
    />
  )
}

export function ValueEditor({
  value,
  editable,
  onSave,
}: {
  value: string
  editable: boolean
  onSave: (text: string) => Promise<void>
}) {
  const { t } = useText()
  const toast = useToast()
  const [text, setText] = useState(value)
  const problem = problemOf(text)
  const save = useMutation({ mutationFn: onSave, onSuccess: () => toast({ text: t('tables.saved') }) })
  if (!editable) return <CodeBox label={t('tables.value')}>{value}</CodeBox>
  return (
    <>
      <AreaField
        label={t('tables.value')}
        value={text}
        onChange={setText}
        rows={12}
        code
        error={problem ? t('tables.invalid', { problem }) : save.error?.message}
      />
      <Actions>
        <Button disabled={text === value} onClick={() => setText(value)}>
          {t('tables.revert')}
        </Button>
        <Button
          variant="primary"
          disabled={text === value || problem !== null || save.isPending}
          onClick={() => save.mutate(text)}
        >
          {t('save')}
        </Button>
      </Actions>
    </>
  )
}
