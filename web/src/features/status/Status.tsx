import { useMutation, useQuery } from '@tanstack/react-query'
import { api, getProjectStatusOptions, metricsOptions, type ProjectStatus } from '../../api'
import { Button } from '../../components/Button'
import { Badge, Failed, Loading, Notice, Page } from '../../components/Screen'
import { useMay } from '../../components/session'
import { Progress, Soft } from '../../components/Text'
import { useToast } from '../../components/Toast'
import { useProjectStatus } from '../../components/useProjectStatus'
import { useText } from '../../i18n/language'
import { bytes, number } from '../../text/format'
import { Keys } from './Keys'
import { type Bucket, boundText, quantile, searchTimes } from './metrics'
import styles from './status.module.css'

export function Status({ projectId }: { projectId: number }) {
  const { t } = useText()
  const toast = useToast()
  const mayWrite = useMay('write')
  const mayAdminister = useMay('admin')
  const path = { project_id: projectId }
  const first = useQuery({ ...getProjectStatusOptions({ path }), refetchInterval: 5_000 })
  const live = useProjectStatus(projectId, true)
  const metrics = useQuery({ ...metricsOptions({ parseAs: 'text' }), enabled: mayAdminister, refetchInterval: 5_000 })
  const rebuild = useMutation({
    mutationFn: async () => {
      await api.rebuildKeywordIndex({ path, body: {}, throwOnError: true })
    },
    onSuccess: () => toast({ text: t('status.rebuildStarted') }),
  })
  const status = live ?? first.data
  if (first.isError && !status) return <Failed error={first.error} onRetry={() => void first.refetch()} />
  if (!status) return <Loading />
  return (
    <Page
      title={t('nav.status')}
      actions={
        mayWrite && (
          <Button icon="rebuild" disabled={rebuild.isPending} onClick={() => rebuild.mutate()}>
            {t('status.rebuild')}
          </Button>
        )
      }
    >
      {first.isError && <Notice tone="bad">{t('status.outdated', { reason: first.error.message })}</Notice>}
      {rebuild.isError && <Notice tone="bad">{rebuild.error.message}</Notice>}
      <StatusView status={status} times={metrics.data ? searchTimes(String(metrics.data), projectId) : null} />
      {mayAdminister && <Keys projectId={projectId} />}
    </Page>
  )
}

export function StatusView({ status, times }: { status: ProjectStatus; times: readonly Bucket[] | null }) {
  const { t, language } = useText()
  const facts = [
    ['documents', number(status.documents, language)],
    ['tables', number(status.tables, language)],
    ['chunks', number(status.chunks, language)],
    ['vectors', number(status.vectors, language)],
    ['tableBytes', bytes(status.disk.table_bytes, language)],
    ['indexBytes', bytes(status.disk.index_bytes, language)],
  ] as const
  const tone = status.index_state === 'ready' ? 'good' : 'warn'
  return (
    <div className={styles.status}>
      <p>
        <Badge tone={tone}>{t(`status.${status.index_state}`)}</Badge>
      </p>
      <dl className={styles.facts}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{t(`status.${name}`)}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <section>
        <h2>{t('status.indexes')}</h2>
        {status.namespaces.length === 0 && <Soft>{t('status.noIndexes')}</Soft>}
        <ul className={styles.namespaces}>
          {status.namespaces.map((each) => (
            <li key={each.namespace}>
              <div>
                <code>{each.namespace}</code>
                <Badge tone={each.status === 'ready' ? 'good' : each.status === 'error' ? 'bad' : 'warn'}>
                  {t(`step.${each.step as 'ready'}`)}
                </Badge>
              </div>
              {each.status !== 'ready' && <Progress value={each.progress.percent} max={100} label={each.namespace} />}
              <small>
                {t('status.progress', { done: each.progress.done, total: each.progress.total })}
                {each.progress.chunks_per_second > 0 &&
                  ` · ${t('status.rate', { rate: Math.round(each.progress.chunks_per_second) })}`}
                {each.progress.seconds_left !== null &&
                  each.status !== 'ready' &&
                  ` · ${t('status.left', { seconds: each.progress.seconds_left })}`}
              </small>
            </li>
          ))}
        </ul>
      </section>
      {times && <Times times={times} />}
      {status.last_errors.length > 0 && (
        <section>
          <h2>{t('status.errors')}</h2>
          <ul className={styles.errors}>
            {status.last_errors.map((error) => (
              <li key={`${error.namespace}:${error.message}`}>
                <code>{error.namespace}</code> {error.message}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}

/** How long searches took, since the server was started. */
function Times({ times }: { times: readonly Bucket[] }) {
  const { t, language } = useText()
  const most = Math.max(1, ...times.map((each) => each.count))
  const all = times.reduce((sum, each) => sum + each.count, 0)
  return (
    <section>
      <h2>{t('status.times')}</h2>
      {all === 0 ? (
        <Soft>{t('status.noTimes')}</Soft>
      ) : (
        <>
          <Soft>
            {t('status.timesText', {
              count: all,
              half: boundText(quantile(times, 0.5)),
              most: boundText(quantile(times, 0.95)),
            })}
          </Soft>
          <ol className={styles.times}>
            {times.map((each) => (
              <li key={each.upTo} data-empty={each.count === 0}>
                <span>{number(each.count, language)}</span>
                <div style={{ height: `${(each.count / most) * 7}rem` }} />
                <small>{boundText(each.upTo)}</small>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  )
}
