import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { createKeyMutation, type Key, listKeysOptions, listKeysQueryKey, revokeKeyMutation } from '../../api'
import { Button, IconButton } from '../../components/Button'
import { ConfirmDialog } from '../../components/Dialog'
import { Field, SelectField } from '../../components/Field'
import { Badge, Failed, Notice } from '../../components/Screen'
import { Ago, CopyButton, Soft } from '../../components/Text'
import { useText } from '../../i18n/language'
import styles from './status.module.css'

/** The keys of a project: who may call the API, and with which role. */
export function Keys({ projectId }: { projectId: number }) {
  const { t } = useText()
  const queries = useQueryClient()
  const path = { project_id: projectId }
  const keys = useQuery(listKeysOptions({ path }))
  const [name, setName] = useState('')
  const [role, setRole] = useState<'read' | 'write' | 'admin'>('read')
  const refresh = () => queries.invalidateQueries({ queryKey: listKeysQueryKey({ path }) })
  const create = useMutation({
    ...createKeyMutation(),
    onSuccess: () => {
      setName('')
      return refresh()
    },
  })
  const [revoking, setRevoking] = useState<Key | null>(null)
  const revoke = useMutation({
    ...revokeKeyMutation(),
    onSuccess: async () => {
      await refresh()
      setRevoking(null)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim()) create.mutate({ path, body: { name: name.trim(), role } })
  }
  return (
    <section className={styles.keys} aria-label={t('keys.title')}>
      <h2>{t('keys.title')}</h2>
      {keys.isError && <Failed error={keys.error} onRetry={() => void keys.refetch()} />}
      {keys.data && <KeyList keys={keys.data.keys} onRevoke={setRevoking} />}
      {revoking && (
        <ConfirmDialog
          title={t('keys.revoke', { name: revoking.name })}
          text={t('keys.revokeText')}
          button={t('keys.revokeButton')}
          error={revoke.error?.message}
          pending={revoke.isPending}
          onConfirm={() => revoke.mutate({ path: { ...path, key_id: revoking.id } })}
          onClose={() => setRevoking(null)}
        />
      )}
      {create.data && (
        <Notice>
          {t('keys.once')} <code>{create.data.key}</code> <CopyButton text={create.data.key} />
        </Notice>
      )}
      <form onSubmit={submit} className={styles.keyForm}>
        <Field
          label={t('keys.name')}
          value={name}
          error={create.error?.message}
          onChange={(event) => setName(event.target.value)}
        />
        <SelectField
          label={t('keys.role')}
          value={role}
          onChange={(event) => setRole(event.target.value as typeof role)}
          options={[
            ['read', t('role.read')],
            ['write', t('role.write')],
            ['admin', t('role.admin')],
          ]}
        />
        <Button type="submit" icon="key" disabled={!name.trim() || create.isPending}>
          {t('keys.new')}
        </Button>
      </form>
    </section>
  )
}

export function KeyList({ keys, onRevoke }: { keys: readonly Key[]; onRevoke: (key: Key) => void }) {
  const { t } = useText()
  if (keys.length === 0) return <Soft>{t('keys.none')}</Soft>
  return (
    <ul className={styles.keyList}>
      {keys.map((key) => (
        <li key={key.id}>
          <strong>{key.name}</strong>
          <Badge tone="accent">{t(`role.${key.role as 'read'}`)}</Badge>
          <code>{key.hint}</code>
          <Ago time={key.created_at} />
          <IconButton
            size="small"
            icon="trash"
            label={t('keys.revoke', { name: key.name })}
            onClick={() => onRevoke(key)}
          />
        </li>
      ))}
    </ul>
  )
}
