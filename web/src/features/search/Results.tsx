import { useRef, useState } from 'react'
import type { ApiFailure, SearchResult } from '../../api'
import { Button } from '../../components/Button'
import { Icon, type IconName } from '../../components/Icon'
import { PageLink } from '../../components/PageLink'
import { Badge, Notice } from '../../components/Screen'
import { Ago, Marked } from '../../components/Text'
import { useEndInView } from '../../components/useEndInView'
import { useText } from '../../i18n/language'
import styles from './search.module.css'
import { type Found, type Group, grouped, targetOf } from './useSearch'
import { Why } from './Why'

export interface ResultsProps {
  readonly projectId: number
  readonly found: Found
  readonly stale: boolean
  readonly addressOf: (documentId: number, start: number, end: number) => string
  readonly onOpened: () => void
  readonly onMore: () => void
  /** Searches again from the first page. */
  readonly onAgain: () => void
}

/** Results grouped by document, best first. More are loaded when the end comes into view. */
export function Results({ found, stale, onMore, onAgain, ...rest }: ResultsProps) {
  const { t } = useText()
  const end = useRef<HTMLDivElement>(null)
  const { hasMore, loadingMore, moreFailed } = found
  useEndInView(end, hasMore && !loadingMore && moreFailed === null, onMore)
  return (
    <div className={styles.results} data-stale={stale} aria-busy={stale}>
      {grouped(found.results).map((group) => (
        <DocumentGroup key={group.documentId} group={group} found={found} {...rest} />
      ))}
      {moreFailed && !loadingMore && <MoreFailed failure={moreFailed} onMore={onMore} onAgain={onAgain} />}
      <div ref={end} className={styles.end}>
        {loadingMore ? t('loading') : !hasMore && found.results.length > 10 ? t('search.end') : ''}
      </div>
    </div>
  )
}

/** Says that the results above are not all, and how to see the others. */
function MoreFailed({ failure, onMore, onAgain }: { failure: ApiFailure; onMore: () => void; onAgain: () => void }) {
  const { t } = useText()
  const expired = failure.code === 'INVALID_ARGUMENT' // the server has forgotten this search
  const offline = failure.code === 'OFFLINE'
  return (
    <div className={styles.moreFailed}>
      <Notice>{expired ? t('search.expired') : offline ? t('offline.title') : failure.notice}</Notice>
      <Button onClick={expired ? onAgain : onMore}>{t(expired ? 'search.again' : 'retry')}</Button>
    </div>
  )
}

function iconOf(path: string | null): IconName {
  if (path?.match(/\.(md|markdown)$/i)) return 'markdown'
  return path ? 'text' : 'document'
}

function DocumentGroup({
  group,
  found,
  ...rest
}: Omit<ResultsProps, 'stale' | 'onMore' | 'onAgain'> & { group: Group }) {
  const { t } = useText()
  return (
    <section className={styles.group} aria-label={group.title}>
      <h3>
        <Icon name={iconOf(group.path)} />
        <span className={styles.groupTitle} title={group.title}>
          {group.title}
        </span>
        <Badge>{t('search.matches', { count: group.results.length })}</Badge>
        {group.updatedAt && <Ago time={group.updatedAt} />}
      </h3>
      <ul>
        {group.results.map((result) => (
          <Result key={result.chunkId} result={result} found={found} {...rest} />
        ))}
      </ul>
    </section>
  )
}

function Result({
  result,
  found,
  projectId,
  addressOf,
  onOpened,
}: Omit<ResultsProps, 'stale' | 'onMore' | 'onAgain'> & { result: SearchResult }) {
  const { t } = useText()
  const [why, setWhy] = useState(false)
  const [start, end] = targetOf(result)
  const { headingPath, documentTitle } = result
  const headings = headingPath[0] === documentTitle ? headingPath.slice(1) : headingPath // the group is named so
  return (
    <li className={styles.result}>
      <PageLink to={addressOf(result.documentId, start, end)} onClick={onOpened}>
        {headings.length > 0 && <small>{headings.join(' › ')}</small>}
        <span>
          <Marked text={result.snippet} ranges={result.highlights} />
        </span>
      </PageLink>
      <div className={styles.resultFoot}>
        <button type="button" aria-expanded={why} onClick={() => setWhy(!why)}>
          {t('why')} · {result.finalScore.toFixed(2)}
        </button>
        {result.duplicates > 0 && <span>{t('search.duplicates', { count: result.duplicates })}</span>}
      </div>
      {why && <Why projectId={projectId} result={result} asked={found.asked} />}
    </li>
  )
}
