import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  api,
  deleteTableMutation,
  getTableDependentsOptions,
  listTablesOptions,
  listTablesQueryKey,
  type TableSummary,
} from '../../api'
import { Button, IconButton } from '../../components/Button'
import { Actions, ConfirmDialog, Dialog } from '../../components/Dialog'
import { AreaField, Field, Form } from '../../components/Field'
import { List, ListItem } from '../../components/List'
import { useNavigateTo } from '../../components/PageLink'
import { Failed, Loading, Notice, Page, Screen } from '../../components/Screen'
import { useMay } from '../../components/session'
import { Ago } from '../../components/Text'
import { useText } from '../../i18n/language'
import { bytes } from '../../text/format'
import { problemOf } from './tree'

export function Tables({ projectId, addressOf }: { projectId: number; addressOf: (id: number) => string }) {
  const { t } = useText()
  const mayWrite = useMay('write')
  const tables = useQuery(listTablesOptions({ path: { project_id: projectId } }))
  const [creating, setCreating] = useState(false)
  const [deleting, setDeleting] = useState<TableSummary | null>(null)
  if (tables.isPending) return <Loading />
  if (tables.isError) return <Failed error={tables.error} onRetry={() => void tables.refetch()} />
  const list = tables.data.tables
  const create = mayWrite && (
    <Button variant="primary" icon="plus" onClick={() => setCreating(true)}>
      {t('tables.new')}
    </Button>
  )
  return (
    <Page title={t('nav.tables')} text={t('tables.text')} actions={list.length > 0 && create}>
      {list.length === 0 ? (
        <Screen icon="table" title={t('tables.none')} action={create}>
          {t('tables.noneText')}
        </Screen>
      ) : (
        <TableList tables={list} addressOf={addressOf} onDelete={setDeleting} />
      )}
      {creating && <NewTable projectId={projectId} addressOf={addressOf} onClose={() => setCreating(false)} />}
      {deleting && <DeleteTable table={deleting} onClose={() => setDeleting(null)} />}
    </Page>
  )
}

export function TableList({
  tables,
  addressOf,
  onDelete,
}: {
  tables: readonly TableSummary[]
  addressOf: (id: number) => string
  onDelete: (table: TableSummary) => void
}) {
  const { t, language } = useText()
  const mayWrite = useMay('write')
  return (
    <List>
      {tables.map((table) => (
        <ListItem
          key={table.id}
          to={addressOf(table.id)}
          icon="table"
          name={table.name}
          facts={
            <>
              <span>{bytes(table.size, language)}</span>
              <Ago time={table.updated_at} />
            </>
          }
          action={
            mayWrite && (
              <IconButton
                icon="trash"
                label={t('projects.delete', { name: table.name })}
                onClick={() => onDelete(table)}
              />
            )
          }
        />
      ))}
    </List>
  )
}

function NewTable({
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
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  const path = { project_id: projectId }
  const create = useMutation({
    mutationFn: async (given: { name: string; text: string }) => {
      const { data } = await api.createTable({
        path,
        body: { name: given.name, data: null },
        bodySerializer: () => `{"name":${JSON.stringify(given.name)},"data":${given.text}}`,
        throwOnError: true,
      })
      return data
    },
    onSuccess: async (made) => {
      await queries.invalidateQueries({ queryKey: listTablesQueryKey({ path }) })
      navigate(addressOf(made.id))
    },
  })
  const problem = text && text.length < 1_000_000 ? problemOf(text) : null
  const submit = () => {
    if (name.trim() && text && !problem) create.mutate({ name: name.trim(), text })
  }
  const choose = async (file: File | undefined) => {
    if (!file) return
    if (!name) setName(file.name.replace(/\.json$/i, ''))
    setText(await file.text())
  }
  return (
    <Dialog title={t('tables.new')} onClose={onClose}>
      <Form onSubmit={submit}>
        <Field label={t('name')} value={name} onChange={(event) => setName(event.target.value)} autoFocus />
        <Field
          label={t('tables.file')}
          type="file"
          accept=".json,application/json"
          onChange={(event) => void choose(event.target.files?.[0])}
        />
        {text.length > 300_000 ? (
          <Notice tone="info">{t('tables.fileLoaded', { count: text.length })}</Notice>
        ) : (
          <AreaField
            label={t('tables.json')}
            value={text}
            onChange={setText}
            rows={8}
            code
            error={problem ? t('tables.invalid', { problem }) : create.error?.message}
          />
        )}
        <Actions>
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button variant="primary" type="submit" disabled={!name.trim() || !text || !!problem || create.isPending}>
            {t('create')}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  )
}

function DeleteTable({ table, onClose }: { table: TableSummary; onClose: () => void }) {
  const { t } = useText()
  const queries = useQueryClient()
  const path = { table_id: table.id }
  const holds = useQuery(getTableDependentsOptions({ path }))
  const remove = useMutation({
    ...deleteTableMutation(),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: listTablesQueryKey({ path: { project_id: table.project_id } }) })
      onClose()
    },
  })
  return (
    <ConfirmDialog
      title={t('projects.delete', { name: table.name })}
      text={holds.data && t('tables.deleteText', { tools: holds.data.tools })}
      error={remove.error?.message ?? holds.error?.message}
      pending={remove.isPending}
      onConfirm={() => remove.mutate({ path })}
      onClose={onClose}
    />
  )
}
