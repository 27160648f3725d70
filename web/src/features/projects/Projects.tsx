import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  createProjectMutation,
  deleteProjectMutation,
  getProjectDependentsOptions,
  listProjectsOptions,
  listProjectsQueryKey,
  type Project,
} from '../../api'
import { Button, IconButton } from '../../components/Button'
import { Actions, ConfirmDialog, Dialog } from '../../components/Dialog'
import { Field, Form } from '../../components/Field'
import { List, ListItem } from '../../components/List'
import { useNavigateTo } from '../../components/PageLink'
import { Failed, Loading, Page, Screen } from '../../components/Screen'
import { useMay } from '../../components/session'
import { Ago } from '../../components/Text'
import { useText } from '../../i18n/language'

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
    <List>
      {projects.map((project) => (
        <ListItem
          key={project.id}
          to={addressOf(project.id)}
          icon="folder"
          name={project.name}
          facts={<Ago time={project.created_at} />}
          action={
            mayDelete && (
              <IconButton
                icon="trash"
                label={t('projects.delete', { name: project.name })}
                onClick={() => onDelete(project)}
              />
            )
          }
        />
      ))}
    </List>
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
  const submit = () => {
    if (name.trim()) create.mutate({ body: { name: name.trim() } })
  }
  return (
    <Dialog title={t('projects.new')} onClose={onClose}>
      <Form onSubmit={submit}>
        <Field
          label={t('name')}
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={create.error?.message}
          autoFocus
        />
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

function DeleteProject({ project, onClose }: { project: Project; onClose: () => void }) {
  const { t } = useText()
  const queries = useQueryClient()
  const path = { project_id: project.id }
  const holds = useQuery(getProjectDependentsOptions({ path }))
  const remove = useMutation({
    ...deleteProjectMutation(),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: listProjectsQueryKey() })
      onClose()
    },
  })
  return (
    <ConfirmDialog
      title={t('projects.delete', { name: project.name })}
      text={holds.data && t('projects.deleteText', holds.data)}
      typedName={project.name}
      error={remove.error?.message ?? holds.error?.message}
      pending={remove.isPending}
      onConfirm={() => remove.mutate({ path })}
      onClose={onClose}
    />
  )
}
