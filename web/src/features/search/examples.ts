import type { SearchPage, SearchResult } from '../../api'
import type { Found } from './useSearch'

/** Results for stories and tests. */
export const RESULTS: SearchResult[] = [
  result(1, 11, 'The lighthouse', 'The 😀 keeper climbed the tower and lit the lamp.', [[6, 12]], [0.412, 0.261, 0.08]),
  result(1, 12, 'The lighthouse', 'No keeper had stayed for a second winter.', [[3, 9]], [0.338, 0.19, 0.08]),
  result(2, 21, '灯塔日记', '守塔人林远在雾里听见了钟声。', [[3, 5]], [0.301, 0.224, 0.061]),
]

function result(
  documentId: number,
  chunkId: number,
  documentTitle: string,
  snippet: string,
  highlights: number[][],
  [bm25, semantic, recency]: [number, number, number],
): SearchResult {
  return {
    documentId,
    documentTitle,
    documentType: 'chapter',
    path: null,
    line: null,
    column: null,
    chunkId,
    snippet,
    highlights,
    startOffset: 100,
    endOffset: 100 + [...snippet].length,
    chunkStart: 90,
    chunkEnd: 300,
    headingPath: documentId === 1 ? ['Part one'] : [],
    finalScore: Number((bm25 + semantic + recency).toFixed(4)),
    scoreBreakdown: { bm25, semantic, recency },
    updatedAt: '2026-11-14T12:00:00Z',
    duplicates: chunkId === 12 ? 2 : 0,
  }
}

export const PAGE: SearchPage = {
  results: RESULTS,
  total: 3,
  hasMore: false,
  page: 1,
  offset: 0,
  cursor: 'c',
  strategy: 'hybrid',
  indexState: 'ready',
  fallback: 'none',
  correctedQuery: null,
  tookMs: 7,
}

export const FOUND: Found = {
  asked: { query: 'keeper', strategy: 'hybrid', filters: {} },
  page: PAGE,
  results: RESULTS,
  hasMore: false,
  loadingMore: false,
  moreFailed: null,
}
