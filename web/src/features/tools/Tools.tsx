import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { deleteToolMutation, listToolsOptions, listToolsQueryKey, type Tool } from '../../api'
import { Button, IconButton } from '../../components/Button'
import { ConfirmDialog } from '../../components/Dialog'
import { List, ListItem } from '../../components/List'
import { Badge, Failed, Loading, Page, Screen } from '../../components/Screen'
import { useMay } from '../../components/session'
import { useText } from '../../i18n/language'
import { NewTool } from './NewTool'

/** The node that a new tool is for. */
export interface Scope {
  readonly tableId: number
  readonly pointer: string
}

export function Tools({
  projectId,
  addressOf,
  scope,
}: {
  projectId: number
  addressOf: (id: number) => string
  scope?: Scope
}) {
  const { t } = useText()
  const mayWrite = useMay('write')
  const tools = useQuery(listToolsOptions({ path: { project_id: projectId } }))
  const [creating, setCreating] = useState(scope !== undefined)
  const [deleting, setDeleting] = useState<Tool | null>(null)
  if (tools.isPending) return <Loading />
  if (tools.isError) return <Failed error={tools.error} onRetry={() => void tools.refetch()} />
  const list = tools.data.tools
  const create = mayWrite && (
    <Button variant="primary" icon="plus" onClick={() => setCreating(true)}>
      {t('tools.new')}
    </Button>
  )
  return (
    <Page title={t('nav.tools')} text={t('tools.text')} actions={list.length > 0 && create}>
      {list.length === 0 ? (
        <Screen icon="tool" title={t('tools.none')} action={create}>
          {t('tools.noneText')}
        </Screen>
      ) : (
        <ToolList tools={list} addressOf={addressOf} onDelete={setDeleting} />
      )}
      {creating && mayWrite && (
        <NewTool projectId={projectId} scope={scope} addressOf={addressOf} onClose={() => setCreating(false)} />
      )}
      {deleting && <DeleteTool tool={deleting} onClose={() => setDeleting(null)} />}
    </Page>
  )
}

export function ToolList({
  tools,
  addressOf,
  onDelete,
}: {
  tools: readonly Tool[]
  addressOf: (id: number) => string
  onDelete: (tool: Tool) => void
}) {
  const { t } = useText()
  const mayWrite = useMay('write')
  return (
    <List>
      {tools.map((tool) => (
        <ListItem
          key={tool.id}
          to={addressOf(tool.id)}
          icon={tool.type.startsWith('search') ? 'search' : 'tool'}
          name={tool.name}
          text={tool.description}
          facts={
            <>
              <Badge tone="accent">{tool.type}</Badge>
              {tool.json_pointer && <code>{tool.json_pointer}</code>}
              <IndexBadge tool={tool} />
            </>
          }
          action={
            mayWrite && (
              <IconButton
                icon="trash"
                label={t('projects.delete', { name: tool.name })}
                onClick={() => onDelete(tool)}
              />
            )
          }
        />
      ))}
    </List>
  )
}

function IndexBadge({ tool }: { tool: Tool }) {
  const { t } = useText()
  const index = tool.metadata.search_index as { status?: string; chunks_count?: number } | undefined
  if (tool.type !== 'search' || !index?.status) return null
  const tone = index.status === 'ready' ? 'good' : index.status === 'error' ? 'bad' : 'warn'
  return <Badge tone={tone}>{t(`index.${index.status as 'ready' | 'pending' | 'indexing' | 'error'}`)}</Badge>
}

function DeleteTool({ tool, onClose }: { tool: Tool; onClose: () => void }) {
  const { t } = useText()
  const queries = useQueryClient()
  const remove = useMutation({
    ...deleteToolMutation(),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: listToolsQueryKey({ path: { project_id: tool.project_id } }) })
      onClose()
    },
  })
  return (
    <ConfirmDialog
      title={t('projects.delete', { name: tool.name })}
      text={t('tools.deleteText')}
      error={remove.error?.message}
      pending={remove.isPending}
      onConfirm={() => remove.mutate({ path: { tool_id: tool.id } })}
      onClose={onClose}
    />
  )
}
