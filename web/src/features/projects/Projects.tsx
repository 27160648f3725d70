import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import {
  createProjectMutation,
  deleteProjectMutation,
  getProjectDependentsOptions,
  listProjectsOptions,
  listProjectsQueryKey,
  type Project,
} from '../../api'
import { Button, IconButton } from '../../components/Button'
import { Actions, Dialog } from '../../components/Dialog'
import { Field } from '../../components/Field'
import { Icon } from '../../components/Icon'
import { PageLink, useNavigateTo } from '../../components/PageLink'
import { Failed, Loading, Notice, Page, Screen } from '../../components/Screen'
import { useMay } from '../../components/session'
import { Ago } from '../../components/Text'
import { useText } from '../../i18n/language'
import styles from './projects.module.css'

export function Projects({ addressOf }: { addressOf: (id: number) => string }) {
  const { t } = useText()
  const projects = useQuery(listProjectsOptions())
  const mayCreate = useMay('owner')
  const [creating, setCreating] = useState(false)
  const [deleting, setDeleting] = useState<Project | null>(null)
  if (projects.isPending) return <Loading />
  if (projects.isError) return <Failed error={projects.error} onRetry={() => void projects.refetch()} />
  const create = mayCreate && (
    <Button variant="primary" icon="plus" onClick={() => setCreating(true)}>
      {t('projects.new')}
    </Button>
  )
  const { projects: list } = projects.data
  return (
    <Page title={t('nav.projects')} actions={list.length > 0 && create}>
      {list.length === 0 ? (
        <Screen icon="folder" title={t('projects.none')} action={create}>
          {t('projects.noneText')}
        </Screen>
      ) : (
        <ProjectList projects={list} addressOf={addressOf} onDelete={setDeleting} />
      )}
      {creating && <NewProject addressOf={addressOf} onClose={() => setCreating(false)} />}
      {deleting && <DeleteProject project={deleting} onClose={() => setDeleting(null)} />}
    </Page>
  )
}

export function ProjectList({
  projects,
  addressOf,
  onDelete,
}: {
  projects: readonly Project[]
  addressOf: (id: number) => string
  onDelete: (project: Project) => void
}) {
  const { t } = useText()
  const mayDelete = useMay('admin')
  return (
    <ul className={styles.list}>
      {projects.map((project) => (
        <li key={project.id} className={styles.item}>
          <PageLink to={addressOf(project.id)} className={styles.link}>
            <Icon name="folder" />
            <strong>{project.name}</strong>
            <span>
              <Ago time={project.created_at} />
            </span>
          </PageLink>
          {mayDelete && (
            <IconButton
              icon="trash"
              label={t('projects.delete', { name: project.name })}
              onClick={() => onDelete(project)}
            />
          )}
        </li>
      ))}
    </ul>
  )
}

function NewProject({ addressOf, onClose }: { addressOf: (id: number) => string; onClose: () => void }) {
  const { t } = useText()
  const queries = useQueryClient()
  const navigate = useNavigateTo()
  const [name, setName] = useState('')
  const create = useMutation({
    ...createProjectMutation(),
    onSuccess: async (made) => {
      await queries.invalidateQueries({ queryKey: listProjectsQueryKey() })
      navigate(addressOf(made.id))
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim()) create.mutate({ body: { name: name.trim() } })
  }
  return (
    <Dialog title={t('projects.new')} onClose={onClose}>
      <form onSubmit={submit}>
        <Field
          label={t('name')}
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={create.error?.message}
          autoFocus
        />
        <br />
        <Actions>
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button variant="primary" type="submit" disabled={!name.trim() || create.isPending}>
            {t('create')}
          </Button>
        </Actions>
      </form>
    </Dialog>
  )
}

function DeleteProject({ project, onClose }: { project: Project; onClose: () => void }) {
  const { t } = useText()
  const queries = useQueryClient()
  const path = { project_id: project.id }
  const holds = useQuery(getProjectDependentsOptions({ path }))
  const [typed, setTyped] = useState('')
  const remove = useMutation({
    ...deleteProjectMutation(),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: listProjectsQueryKey() })
      onClose()
    },
  })
  return (
    <Dialog title={t('projects.delete', { name: project.name })} onClose={onClose}>
      <Notice tone="bad">
        {t('projects.deleteText', {
          documents: holds.data?.documents ?? 0,
          tables: holds.data?.tables ?? 0,
          tools: holds.data?.tools ?? 0,
        })}
      </Notice>
      <Field
        label={t('projects.typeName', { name: project.name })}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      <Actions>
        <Button onClick={onClose}>{t('cancel')}</Button>
        <Button danger disabled={typed !== project.name || remove.isPending} onClick={() => remove.mutate({ path })}>
          {t('delete')}
        </Button>
      </Actions>
    </Dialog>
  )
}
