import { memo } from 'react'
import { Button } from '../../components/Button'
import { Loading, Notice, Screen } from '../../components/Screen'
import { Hidden } from '../../components/Text'
import { useText } from '../../i18n/language'
import { Results, type ResultsProps } from './Results'
import styles from './search.module.css'
import type { Found, SearchState } from './useSearch'

interface Props extends Omit<ResultsProps, 'found' | 'stale' | 'onAgain'> {
  readonly state: SearchState
  readonly history: readonly string[]
  readonly onQuery: (query: string) => void
  readonly onRetry: () => void
  readonly onClearHistory: () => void
}

/** Chooses between the named screens of the search panel. It is not drawn anew while a query is typed. */
export const SearchScreen = memo(ChosenScreen)

function ChosenScreen({ state, history, onQuery, onRetry, onClearHistory, ...results }: Props) {
  const { t } = useText()
  const retry = (
    <Button variant="primary" onClick={onRetry}>
      {t('retry')}
    </Button>
  )
  switch (state.screen) {
    case 'start':
      return <Start history={history} onQuery={onQuery} onClear={onClearHistory} />
    case 'searching':
      return <Loading />
    case 'results':
      return (
        <>
          <Count found={state.found} />
          <Health found={state.found} />
          <Results found={state.found} stale={state.stale} onAgain={onRetry} {...results} />
        </>
      )
    case 'none':
      return (
        <>
          <Health found={{ page: state.page }} />
          <Screen icon="search" title={t('search.none', { query: state.query })}>
            {t('search.noneText')}
          </Screen>
        </>
      )
    case 'rebuilding':
      return (
        <Screen icon="clock" title={t('search.rebuilding')} action={retry}>
          {state.message}
        </Screen>
      )
    case 'timeout':
      return (
        <Screen icon="clock" title={t('search.timeout')} action={retry}>
          {t('search.timeoutText')}
        </Screen>
      )
    case 'backpressure':
      return (
        <Screen icon="spinner" spin title={t('search.busy')}>
          {t('search.busyText')}
        </Screen>
      )
    case 'offline':
      return (
        <Screen icon="offline" title={t('offline.title')} action={retry}>
          {t('offline.text')}
        </Screen>
      )
    case 'error':
      return (
        <Screen icon="warning" title={t('error.title')} action={retry}>
          {state.message}
        </Screen>
      )
  }
}

function Start({
  history,
  onQuery,
  onClear,
}: {
  history: readonly string[]
  onQuery: (query: string) => void
  onClear: () => void
}) {
  const { t } = useText()
  if (history.length === 0) {
    return (
      <Screen icon="search" title={t('search.start')}>
        {t('search.startText')}
      </Screen>
    )
  }
  return (
    <section className={styles.history} aria-label={t('search.history')}>
      <header>
        <h3>{t('search.history')}</h3>
        <Button size="small" variant="quiet" onClick={onClear}>
          {t('clear')}
        </Button>
      </header>
      <ul>
        {history.map((query) => (
          <li key={query}>
            <button type="button" onClick={() => onQuery(query)}>
              {query}
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Count({ found }: { found: Found }) {
  const { t } = useText()
  const documents = new Set(found.results.map((each) => each.documentId)).size
  const bound = found.page.totalIsLowerBound === true
  const text = found.hasMore
    ? t(bound ? 'search.atLeast' : 'search.of', { shown: found.results.length, total: found.page.total })
    : t('search.count', { count: found.results.length, documents })
  return (
    <p className={styles.count}>
      <span aria-live="polite">{text}</span>
      <span aria-hidden="true"> · {Math.max(1, Math.round(found.page.tookMs))} ms</span>
      <Hidden>{t('search.sorted')}</Hidden>
    </p>
  )
}

/** Says what the index cannot do at the moment, while the search goes on. */
function Health({ found }: { found: Pick<Found, 'page'> }) {
  const { t } = useText()
  const { page } = found
  return (
    <div className={styles.notices}>
      {page.fallback === 'fts' && (
        <Notice>
          <strong>{t('search.degraded')}</strong> {page.notice ?? t('search.degradedText')}
        </Notice>
      )}
      {page.fallback === 'none' && page.notice && <Notice tone="info">{page.notice}</Notice>}
      {page.indexState !== 'ready' && (
        <Notice tone="info">
          {t(page.indexState === 'rebuilding' ? 'search.indexRebuilding' : 'search.indexing', {
            done: page.indexedDocuments ?? 0,
            total: page.totalDocuments ?? 0,
          })}
        </Notice>
      )}
    </div>
  )
}
