import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { diffVersionOptions, listVersionsOptions, restoreVersionMutation, type VersionSummary } from '../../api'
import { Button, IconButton } from '../../components/Button'
import { Actions, Dialog } from '../../components/Dialog'
import { Failed, Loading } from '../../components/Screen'
import { useMay } from '../../components/session'
import { Ago, type Change, Diff, Soft } from '../../components/Text'
import { useText } from '../../i18n/language'
import styles from './documents.module.css'

/** The history of a document: what it was, what has changed since, and a way back. */
export function Versions({
  documentId,
  save,
  onClose,
  onRestored,
}: {
  documentId: number
  /** Saves what was typed, so that a version is compared with it. */
  save: () => Promise<unknown>
  onClose: () => void
  onRestored: () => void
}) {
  const versions = useQuery({ ...listVersionsOptions({ path: { document_id: documentId } }), staleTime: 0 })
  const [compared, setCompared] = useState<VersionSummary | null>(null)
  return (
    <>
      <VersionList
        versions={versions.data?.versions}
        error={versions.error}
        onRetry={() => void versions.refetch()}
        onCompare={(version) => void save().then(() => setCompared(version))}
        onClose={onClose}
      />
      {compared && (
        <Compare
          documentId={documentId}
          version={compared}
          onClose={() => setCompared(null)}
          onRestored={() => {
            setCompared(null)
            void versions.refetch()
            onRestored()
          }}
        />
      )}
    </>
  )
}

export function VersionList({
  versions,
  error,
  onRetry,
  onCompare,
  onClose,
}: {
  versions: readonly VersionSummary[] | undefined
  error?: unknown
  onRetry?: () => void
  onCompare: (version: VersionSummary) => void
  onClose: () => void
}) {
  const { t, language } = useText()
  return (
    <section className={styles.versions} aria-label={t('versions.title')}>
      <header>
        <h2>{t('versions.title')}</h2>
        <IconButton size="small" icon="close" label={t('close')} onClick={onClose} />
      </header>
      {error ? <Failed error={error} onRetry={onRetry} /> : null}
      {versions?.length === 0 && <Soft>{t('versions.none')}</Soft>}
      <ul>
        {versions?.map((version) => (
          <li key={version.id}>
            <button type="button" onClick={() => onCompare(version)}>
              <strong>{t(`reason.${version.reason as 'manual' | 'autosave' | 'replace' | 'restore'}`)}</strong>
              <span>
                <Ago time={version.createdAt} />
              </span>
              <small>
                {version.actor} · {t('versions.words', { count: version.wordCount.toLocaleString(language) })}
              </small>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Compare({
  documentId,
  version,
  onClose,
  onRestored,
}: {
  documentId: number
  version: VersionSummary
  onClose: () => void
  onRestored: () => void
}) {
  const { t } = useText()
  const mayWrite = useMay('write')
  const path = { document_id: documentId, version_id: version.id }
  const diff = useQuery({ ...diffVersionOptions({ path }), staleTime: 0, gcTime: 0 })
  const restore = useMutation({ ...restoreVersionMutation(), onSuccess: onRestored })
  return (
    <Dialog title={t('versions.compare')} onClose={onClose} wide>
      <Soft>
        {t(`reason.${version.reason as 'manual' | 'autosave' | 'replace' | 'restore'}`)} ·{' '}
        <Ago time={version.createdAt} />
      </Soft>
      {diff.isPending && <Loading />}
      {diff.isError && <Failed error={diff.error} onRetry={() => void diff.refetch()} />}
      {diff.data && <Diff changes={diff.data.changes as Change[]} />}
      {mayWrite && (
        <Actions>
          {restore.isError && <span role="alert">{restore.error.message}</span>}
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button
            variant="primary"
            icon="undo"
            disabled={restore.isPending || diff.isPending}
            onClick={() => restore.mutate({ path })}
          >
            {t('versions.restore')}
          </Button>
        </Actions>
      )}
    </Dialog>
  )
}
