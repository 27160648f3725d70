import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { getSearchIndexOptions, getSearchIndexQueryKey, type SearchIndex } from '../../api'
import { Notice } from '../../components/Screen'
import { Progress } from '../../components/Text'
import { useProjectStatus } from '../../components/useProjectStatus'
import { useText } from '../../i18n/language'
import styles from './tools.module.css'

/** How far the index of a search tool is, while it is not ready. The server's events drive it. Its place is reserved. */
export function IndexProgress({ projectId, toolId }: { projectId: number; toolId: number }) {
  const queries = useQueryClient()
  const index = useQuery(getSearchIndexOptions({ path: { tool_id: toolId } }))
  const waiting = index.data !== undefined && index.data.status !== 'ready'
  const status = useProjectStatus(projectId, waiting)
  useEffect(() => {
    if (status) void queries.invalidateQueries({ queryKey: getSearchIndexQueryKey({ path: { tool_id: toolId } }) })
  }, [status, queries, toolId])
  return <div className={styles.index}>{index.data && <IndexProgressView index={index.data} />}</div>
}

export function IndexProgressView({ index }: { index: SearchIndex }) {
  const { t } = useText()
  if (index.status === 'error') return <Notice tone="bad">{index.last_error ?? t('index.error')}</Notice>
  const facts = t('tools.indexFacts', { nodes: index.nodes_count, chunks: index.chunks_count })
  if (index.status === 'ready') return <p className={styles.facts}>{facts}</p>
  return (
    <div className={styles.progress}>
      <span>{t('tools.indexing', { done: index.indexed_chunks_count, total: index.chunks_count })}</span>
      <Progress value={index.indexed_chunks_count} max={index.chunks_count} label={t('index.indexing')} />
    </div>
  )
}
