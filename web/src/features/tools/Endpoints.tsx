import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  api,
  createEndpointMutation,
  deleteEndpointMutation,
  type Endpoint,
  getEndpointOptions,
  getEndpointQueryKey,
  listEndpointsOptions,
  listEndpointsQueryKey,
  listToolsOptions,
  rotateKeyMutation,
  type Tool,
} from '../../api'
import { Button, IconButton } from '../../components/Button'
import { Actions, ConfirmDialog, Dialog } from '../../components/Dialog'
import { Field, Form } from '../../components/Field'
import { Failed, Loading, Notice, Page, Screen } from '../../components/Screen'
import { useMay } from '../../components/session'
import { CopyButton } from '../../components/Text'
import { useText } from '../../i18n/language'
import { Configuration } from './Configuration'
import styles from './tools.module.css'

interface Secret {
  readonly url: string
  readonly key: string
}

export function Endpoints({ projectId }: { projectId: number }) {
  const { t } = useText()
  const mayWrite = useMay('write')
  const path = { project_id: projectId }
  const endpoints = useQuery(listEndpointsOptions({ path }))
  const tools = useQuery(listToolsOptions({ path }))
  const [creating, setCreating] = useState(false)
  const [secret, setSecret] = useState<Secret | null>(null)
  if (endpoints.isPending || tools.isPending) return <Loading />
  if (endpoints.isError) return <Failed error={endpoints.error} onRetry={() => void endpoints.refetch()} />
  if (tools.isError) return <Failed error={tools.error} onRetry={() => void tools.refetch()} />
  const list = endpoints.data.endpoints
  const create = mayWrite && (
    <Button variant="primary" icon="plus" onClick={() => setCreating(true)}>
      {t('endpoints.new')}
    </Button>
  )
  return (
    <Page title={t('nav.endpoints')} text={t('endpoints.text')} actions={list.length > 0 && create}>
      {list.length === 0 && (
        <Screen icon="endpoint" title={t('endpoints.none')} action={create}>
          {t('endpoints.noneText')}
        </Screen>
      )}
      <div className={styles.endpoints}>
        {list.map((each) => (
          <OneEndpoint key={each.id} endpointId={each.id} tools={tools.data.tools} onSecret={setSecret} />
        ))}
      </div>
      {creating && (
        <NewEndpoint
          projectId={projectId}
          tools={tools.data.tools}
          onClose={() => setCreating(false)}
          onSecret={(made) => {
            setCreating(false)
            setSecret(made)
          }}
        />
      )}
      {secret && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </Page>
  )
}

function OneEndpoint({
  endpointId,
  tools,
  onSecret,
}: {
  endpointId: number
  tools: readonly Tool[]
  onSecret: (secret: Secret) => void
}) {
  const path = { endpoint_id: endpointId }
  const endpoint = useQuery(getEndpointOptions({ path }))
  const queries = useQueryClient()
  const refresh = () => queries.invalidateQueries({ queryKey: getEndpointQueryKey({ path }) })
  const [choice, setChoice] = useState<{ toolId: number; bound: boolean }>() // shown as if it were made already
  const bind = useMutation({
    mutationFn: async ({ toolId, bound }: { toolId: number; bound: boolean }) => {
      const target = { path: { ...path, tool_id: toolId }, throwOnError: true as const }
      await (bound ? api.bindTool(target) : api.unbindTool(target))
    },
    onSettled: async () => {
      await refresh()
      setChoice(undefined)
    },
  })
  const rotate = useMutation({
    ...rotateKeyMutation(),
    onSuccess: (made) => endpoint.data && onSecret({ url: endpoint.data.url, key: made.api_key }),
  })
  const remove = useMutation({
    ...deleteEndpointMutation(),
    onSuccess: () =>
      endpoint.data &&
      queries.invalidateQueries({
        queryKey: listEndpointsQueryKey({ path: { project_id: endpoint.data.project_id } }),
      }),
  })
  if (endpoint.isError) return <Failed error={endpoint.error} onRetry={() => void endpoint.refetch()} />
  if (!endpoint.data) return null
  return (
    <EndpointCard
      endpoint={endpoint.data}
      tools={tools}
      pending={choice}
      error={bind.error?.message ?? rotate.error?.message ?? remove.error?.message}
      onBind={(toolId, bound) => {
        setChoice({ toolId, bound })
        bind.mutate({ toolId, bound })
      }}
      onRotate={() => rotate.mutate({ path })}
      onDelete={() => remove.mutate({ path })}
    />
  )
}

export function EndpointCard({
  endpoint,
  tools,
  pending,
  error,
  onBind,
  onRotate,
  onDelete,
}: {
  endpoint: Endpoint
  tools: readonly Tool[]
  pending?: { readonly toolId: number; readonly bound: boolean }
  error?: string
  onBind: (toolId: number, bound: boolean) => void
  onRotate: () => void
  onDelete: () => void
}) {
  const { t } = useText()
  const mayWrite = useMay('write')
  const [asking, setAsking] = useState<'rotate' | 'delete' | null>(null)
  const bound = new Set(endpoint.tools.filter((each) => each.enabled).map((each) => each.tool_id))
  return (
    <section className={styles.card} aria-label={endpoint.name}>
      <header className={styles.answerHead}>
        <h2>{endpoint.name}</h2>
        {mayWrite && (
          <span>
            <Button size="small" icon="key" onClick={() => setAsking('rotate')}>
              {t('endpoints.rotate')}
            </Button>{' '}
            <IconButton
              size="small"
              icon="trash"
              label={t('projects.delete', { name: endpoint.name })}
              onClick={() => setAsking('delete')}
            />
          </span>
        )}
      </header>
      <div className={styles.url}>
        <code>{endpoint.url}</code>
        <CopyButton text={endpoint.url} />
      </div>
      {error && <Notice tone="bad">{error}</Notice>}
      <fieldset className={styles.bindings} disabled={!mayWrite}>
        <legend>{t('endpoints.tools')}</legend>
        {tools.length === 0 && <p className={styles.facts}>{t('tools.none')}</p>}
        {tools.map((tool) => (
          <label key={tool.id}>
            <input
              type="checkbox"
              checked={pending?.toolId === tool.id ? pending.bound : bound.has(tool.id)}
              onChange={(event) => onBind(tool.id, event.target.checked)}
            />
            {tool.name} <small>{tool.type}</small>
          </label>
        ))}
      </fieldset>
      <Configuration url={endpoint.url} apiKey={null} />
      {asking && (
        <ConfirmDialog
          title={t(asking === 'rotate' ? 'endpoints.rotate' : 'projects.delete', { name: endpoint.name })}
          text={t(asking === 'rotate' ? 'endpoints.rotateText' : 'endpoints.deleteText')}
          button={asking === 'rotate' ? t('endpoints.rotate') : undefined}
          onClose={() => setAsking(null)}
          onConfirm={() => {
            setAsking(null)
            if (asking === 'rotate') onRotate()
            else onDelete()
          }}
        />
      )}
    </section>
  )
}

function NewEndpoint({
  projectId,
  tools,
  onClose,
  onSecret,
}: {
  projectId: number
  tools: readonly Tool[]
  onClose: () => void
  onSecret: (secret: Secret) => void
}) {
  const { t } = useText()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set(tools.map((each) => each.id)))
  const create = useMutation({
    ...createEndpointMutation(),
    onSuccess: async (made) => {
      await queries.invalidateQueries({ queryKey: listEndpointsQueryKey({ path: { project_id: projectId } }) })
      onSecret({ url: made.url, key: made.api_key })
    },
  })
  const submit = () => {
    if (name.trim()) create.mutate({ body: { project_id: projectId, name: name.trim(), tool_ids: [...chosen] } })
  }
  const toggle = (id: number, on: boolean) =>
    setChosen((now) => new Set(on ? [...now, id] : [...now].filter((each) => each !== id)))
  return (
    <Dialog title={t('endpoints.new')} onClose={onClose}>
      <Form onSubmit={submit}>
        <Field
          label={t('name')}
          value={name}
          error={create.error?.message}
          onChange={(event) => setName(event.target.value)}
        />
        <fieldset className={styles.bindings}>
          <legend>{t('endpoints.tools')}</legend>
          {tools.map((tool) => (
            <label key={tool.id}>
              <input
                type="checkbox"
                checked={chosen.has(tool.id)}
                onChange={(event) => toggle(tool.id, event.target.checked)}
              />
              {tool.name} <small>{tool.type}</small>
            </label>
          ))}
        </fieldset>
        <Actions>
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button variant="primary" type="submit" disabled={!name.trim() || create.isPending}>
            {t('create')}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  )
}

export function SecretDialog({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  const { t } = useText()
  return (
    <Dialog title={t('endpoints.key')} onClose={onClose} wide>
      <Notice>{t('endpoints.keyText')}</Notice>
      <div className={styles.url}>
        <code>{secret.key}</code>
        <CopyButton text={secret.key} />
      </div>
      <Configuration url={secret.url} apiKey={secret.key} />
    </Dialog>
  )
}
