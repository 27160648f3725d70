import { useQuery } from '@tanstack/react-query'
import { api, type RankExplanation, type SearchResult } from '../../api'
import { Failed } from '../../components/Screen'
import { useText } from '../../i18n/language'
import styles from './search.module.css'
import type { Asked } from './useSearch'

const PARTS = ['bm25', 'semantic', 'recency'] as const

/** Why a result has its score. */
export function Why({ projectId, result, asked }: { projectId: number; result: SearchResult; asked: Asked }) {
  const explained = useQuery({
    queryKey: ['explain', projectId, asked.query, result.chunkId],
    queryFn: async ({ signal }) => {
      const body = { query: asked.query, typing: true, documentId: result.documentId, chunkId: result.chunkId }
      const { data } = await api.explainRank({ path: { project_id: projectId }, body, signal, throwOnError: true })
      return Array.isArray(data) ? (data[0] ?? null) : data
    },
    staleTime: 60_000,
  })
  if (explained.isError) return <Failed error={explained.error} onRetry={() => void explained.refetch()} />
  return <WhyView result={result} asked={asked} explained={explained.data ?? null} />
}

export function WhyView({
  result,
  asked,
  explained,
}: {
  result: SearchResult
  asked: Asked
  explained: RankExplanation | null
}) {
  const { t, language } = useText()
  const score = result.finalScore || 1
  const ranks = { bm25: explained?.bm25.rank, semantic: explained?.semantic.rank, recency: null }
  return (
    <div className={styles.why}>
      <div className={styles.stack} aria-hidden="true">
        {PARTS.map((part) => (
          <span key={part} data-part={part} style={{ flexGrow: Math.max(0, result.scoreBreakdown[part] / score) }} />
        ))}
      </div>
      <dl>
        {PARTS.map((part) => (
          <div key={part}>
            <dt data-part={part}>{t(`why.${part}`)}</dt>
            <dd>
              {result.scoreBreakdown[part].toFixed(3)}
              {typeof ranks[part] === 'number' && <small>{t('why.rank', { rank: ranks[part] })}</small>}
            </dd>
          </div>
        ))}
        <div className={styles.sum}>
          <dt>{t('why.score')}</dt>
          <dd>{result.finalScore.toFixed(3)}</dd>
        </div>
      </dl>
      {explained && (
        <>
          {explained.matchedWords.length > 0 && (
            <p>
              {t('why.matched')}{' '}
              {explained.matchedWords.map((each) => (
                <mark key={each.word}>{each.word}</mark>
              ))}
            </p>
          )}
          {explained.missingWords.length > 0 && (
            <p>{t('why.missing', { words: explained.missingWords.join(language === 'zh' ? '、' : ', ') })}</p>
          )}
          {asked.strategy === 'hybrid' && <p className={styles.sentence}>{explained.explanation}</p>}
        </>
      )}
    </div>
  )
}
