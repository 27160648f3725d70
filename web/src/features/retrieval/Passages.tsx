import type { Retrieval } from '../../api'
import { PageLink } from '../../components/PageLink'
import { Badge, Notice, Screen } from '../../components/Screen'
import { Marked, Progress, Prose } from '../../components/Text'
import { useText } from '../../i18n/language'
import { redactedRanges } from './placeholders'
import styles from './retrieval.module.css'

/** Passages with their scores and tokens, what was left out and why, and what was redacted. */
export function Passages({
  answer,
  addressOf,
}: {
  answer: Retrieval
  addressOf: (documentId: number, start: number, end: number) => string
}) {
  const { t } = useText()
  const hidden = Object.entries(answer.redactions)
  return (
    <div className={styles.stack}>
      {answer.notice && <Notice>{answer.notice}</Notice>}
      <div className={styles.budget}>
        <span>{t('retrieval.used', { used: answer.usedTokens, max: answer.maxTokens })}</span>
        <Progress value={answer.usedTokens} max={answer.maxTokens} label={t('retrieval.budget')} />
      </div>
      {answer.chunks.length === 0 && <Screen icon="search" title={t('retrieval.none')} />}
      <ol className={styles.passages}>
        {answer.chunks.map((chunk) => (
          <li key={chunk.chunkId}>
            <div className={styles.passageHead}>
              <PageLink to={addressOf(chunk.documentId, chunk.startOffset, chunk.endOffset)}>
                {chunk.documentTitle}
              </PageLink>
              <Badge tone="accent">{chunk.score.toFixed(2)}</Badge>
              <Badge>{t('retrieval.tokens', { count: chunk.tokens })}</Badge>
              {chunk.hiddenCharacters.length > 0 && (
                <Badge tone="warn">{t('retrieval.invisible', { count: chunk.hiddenCharacters.length })}</Badge>
              )}
            </div>
            {chunk.headingPath.length > 0 && <small>{chunk.headingPath.join(' › ')}</small>}
            <Prose text={chunk.text}>
              <Marked text={chunk.text} ranges={redactedRanges(chunk)} />
            </Prose>
            <small>{chunk.reason}</small>
          </li>
        ))}
      </ol>
      {hidden.length > 0 && (
        <section>
          <h2>{t('retrieval.redactions')}</h2>
          <p className={styles.badges}>
            {hidden.map(([kind, count]) => (
              <Badge key={kind} tone="warn">
                {kind}: {count}
              </Badge>
            ))}
          </p>
        </section>
      )}
      {answer.dropped.length > 0 && (
        <section>
          <h2>{t('retrieval.dropped')}</h2>
          <ul className={styles.dropped}>
            {answer.dropped.map((each) => (
              <li key={each.chunkId}>
                <code>#{each.chunkId}</code> {t(`dropped.${each.reason}`)}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}
