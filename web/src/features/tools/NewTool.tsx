import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { createToolMutation, listTablesOptions, listToolsQueryKey, type ToolType } from '../../api'
import { Button } from '../../components/Button'
import { Actions, Dialog } from '../../components/Dialog'
import { Field, Form, SelectField } from '../../components/Field'
import { useNavigateTo } from '../../components/PageLink'
import { useText } from '../../i18n/language'
import type { Scope } from './Tools'

const ON_TABLES: readonly ToolType[] = [
  'search',
  'get_data_schema',
  'get_all_data',
  'query_data',
  'read',
  'preview',
  'select',
  'create',
  'update',
  'delete',
]
const ON_DOCUMENTS: readonly ToolType[] = ['search_documents', 'read_document', 'list_documents']

export function NewTool({
  projectId,
  scope,
  addressOf,
  onClose,
}: {
  projectId: number
  scope?: Scope
  addressOf: (id: number) => string
  onClose: () => void
}) {
  const { t } = useText()
  const queries = useQueryClient()
  const navigate = useNavigateTo()
  const tables = useQuery(listTablesOptions({ path: { project_id: projectId } }))
  const [type, setType] = useState<ToolType>('search')
  const [table, setTable] = useState(scope ? String(scope.tableId) : '')
  const [pointer, setPointer] = useState(scope?.pointer ?? '')
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [threshold, setThreshold] = useState('1')
  const list = tables.data?.tables ?? []
  const onTable = ON_TABLES.includes(type)
  const tableId = Number(table) || list[0]?.id
  const create = useMutation({
    ...createToolMutation(),
    onSuccess: async (made) => {
      await queries.invalidateQueries({ queryKey: listToolsQueryKey({ path: { project_id: projectId } }) })
      onClose()
      navigate(addressOf(made.id))
    },
  })
  const ready = name.trim() !== '' && (!onTable || tableId !== undefined)
  const submit = () => {
    if (!ready) return
    create.mutate({
      query: { wait: false },
      body: {
        project_id: projectId,
        type,
        name: name.trim(),
        ...(description.trim() ? { description: description.trim() } : {}),
        ...(type === 'search' ? { search_config: { chunk_threshold: Number(threshold) || 1 } } : {}),
        ...(onTable ? { table_id: tableId, json_pointer: pointer } : {}),
      },
    })
  }
  return (
    <Dialog title={t('tools.new')} onClose={onClose}>
      <Form onSubmit={submit}>
        <SelectField
          label={t('type')}
          value={type}
          onChange={(event) => setType(event.target.value as ToolType)}
          options={[...ON_TABLES, ...ON_DOCUMENTS].map(
            (each) => [each, `${each}: ${t(`tool.${each}` as 'tool.search')}`] as const,
          )}
        />
        {onTable && (
          <>
            <SelectField
              label={t('tools.table')}
              value={tableId ?? ''}
              onChange={(event) => setTable(event.target.value)}
              options={list.map((each) => [String(each.id), each.name] as const)}
            />
            <Field
              label={t('tools.pointer')}
              value={pointer}
              placeholder="/chapters"
              hint={t('tools.pointerHint')}
              onChange={(event) => setPointer(event.target.value)}
            />
          </>
        )}
        <Field
          label={t('name')}
          value={name}
          placeholder="search_chapters"
          error={create.error?.message}
          onChange={(event) => setName(event.target.value)}
        />
        <Field
          label={t('tools.description')}
          value={description}
          hint={t('tools.descriptionHint')}
          onChange={(event) => setDescription(event.target.value)}
        />
        {type === 'search' && (
          <Field
            label={t('tools.threshold')}
            type="number"
            min={1}
            value={threshold}
            hint={t('tools.thresholdHint')}
            onChange={(event) => setThreshold(event.target.value)}
          />
        )}
        <Actions>
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button variant="primary" type="submit" disabled={!ready || create.isPending}>
            {t('create')}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  )
}
