import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { ApiFailure, api, failureOf, type SearchPage, type SearchResult, type StrategicSearch } from '../../api'

export type Strategy = 'hybrid' | 'fts' | 'semantic'

export interface Filters {
  readonly documentId?: number
  readonly type?: string
  readonly days?: number
}

export interface Asked {
  readonly query: string
  readonly strategy: Strategy
  readonly filters: Filters
}

/** What the panel shows. Each of these is a screen. */
export type SearchState =
  | { readonly screen: 'start' }
  | { readonly screen: 'searching' }
  | { readonly screen: 'results'; readonly found: Found; readonly stale: boolean }
  | { readonly screen: 'none'; readonly query: string; readonly page: SearchPage }
  | { readonly screen: 'rebuilding'; readonly message: string }
  | { readonly screen: 'timeout' }
  | { readonly screen: 'backpressure' }
  | { readonly screen: 'offline' }
  | { readonly screen: 'error'; readonly message: string }

export interface Found {
  readonly asked: Asked
  readonly page: SearchPage
  readonly results: readonly SearchResult[]
  readonly hasMore: boolean
  readonly loadingMore: boolean
  /** Why the next page did not arrive. */
  readonly moreFailed: ApiFailure | null
}

const RETRIES = 50

/** Searches as one types. Earlier results stay until newer ones arrive; late answers are dropped. */
export function useSearch(projectId: number, asked: Asked) {
  const query = asked.query.trim()
  const search = useInfiniteQuery({
    queryKey: ['search', projectId, query, asked.strategy, asked.filters] as const,
    enabled: query !== '',
    initialPageParam: {} as { page?: number; cursor?: string },
    queryFn: async ({ pageParam, signal }) => {
      const body = bodyOf(query, asked, pageParam)
      const { data } = await api.searchDocuments({ path: { project_id: projectId }, body, signal, throwOnError: true })
      return { page: data, asked: { ...asked, query } }
    },
    getNextPageParam: ({ page }) => (page.hasMore ? { page: page.page + 1, cursor: page.cursor } : undefined),
    placeholderData: keepPreviousData,
    retry: (count, error) => isBusy(error) && count < RETRIES,
    retryDelay: (_, error) => (error instanceof ApiFailure ? (error.retryAfterMs ?? 500) : 500),
    staleTime: 5_000,
    refetchOnWindowFocus: false,
  })
  const { data, error, failureReason, isPlaceholderData, isError, isFetching, hasNextPage, isFetchingNextPage } = search
  const { isFetchNextPageError } = search
  const state = useMemo(
    () =>
      stateOf(query, {
        data,
        error,
        failureReason,
        isPlaceholderData,
        isError,
        isFetching,
        hasNextPage,
        isFetchingNextPage,
        isFetchNextPageError,
      }),
    [
      query,
      data,
      error,
      failureReason,
      isPlaceholderData,
      isError,
      isFetching,
      hasNextPage,
      isFetchingNextPage,
      isFetchNextPageError,
    ],
  )
  return { state, loadMore: search.fetchNextPage, retry: search.refetch }
}

function isBusy(error: unknown): boolean {
  return error instanceof ApiFailure && (error.code === 'SEARCH_BACKPRESSURE' || error.code === 'SERVER_BUSY')
}

export function bodyOf(query: string, asked: Asked, next: { page?: number; cursor?: string }): StrategicSearch {
  const { documentId, type, days } = asked.filters
  const since = days && new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
  return {
    query,
    strategy: asked.strategy,
    typing: true,
    ...next,
    ...(documentId ? { documentIds: [documentId] } : {}),
    ...(type ? { types: [type] } : {}),
    ...(since ? { updatedAfter: since } : {}),
  }
}

interface Progress {
  readonly data?: { readonly pages: readonly { readonly page: SearchPage; readonly asked: Asked }[] } | undefined
  readonly error: unknown
  readonly failureReason: unknown
  readonly isPlaceholderData: boolean
  readonly isError: boolean
  readonly isFetching: boolean
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly isFetchNextPageError: boolean
}

/** Chooses the screen for a search in progress. */
export function stateOf(query: string, search: Progress): SearchState {
  if (query === '') return { screen: 'start' }
  const pages = search.data?.pages ?? []
  const first = pages[0]
  const keepsPages = first !== undefined && (search.isFetchNextPageError || search.isFetching)
  if (search.isError && !keepsPages) return failedState(search.error)
  if (!first) {
    return { screen: search.isFetching && isBusy(search.failureReason) ? 'backpressure' : 'searching' }
  }
  const results = pages.flatMap(({ page }) => page.results)
  if (results.length === 0) {
    if (search.isPlaceholderData) return { screen: 'searching' }
    return { screen: 'none', query, page: first.page }
  }
  const found: Found = {
    asked: first.asked,
    page: first.page,
    results,
    hasMore: search.hasNextPage,
    loadingMore: search.isFetchingNextPage,
    moreFailed: search.isFetchNextPageError ? failureOf(search.error) : null,
  }
  return { screen: 'results', found, stale: search.isPlaceholderData }
}

function failedState(error: unknown): SearchState {
  if (!(error instanceof ApiFailure)) return { screen: 'error', message: String(error) }
  switch (error.code) {
    case 'OFFLINE':
      return { screen: 'offline' }
    case 'SEARCH_TIMEOUT':
      return { screen: 'timeout' }
    case 'SEARCH_BACKPRESSURE':
      return { screen: 'backpressure' }
    case 'INDEX_REBUILDING':
      return { screen: 'rebuilding', message: error.notice }
    default:
      return { screen: 'error', message: error.notice }
  }
}

export interface Group {
  readonly documentId: number
  readonly title: string
  readonly type: string
  readonly path: string | null
  readonly updatedAt: string | null
  readonly results: readonly SearchResult[]
}

/** Groups results by document, in the order of their best results. */
export function grouped(results: readonly SearchResult[]): Group[] {
  const groups = new Map<number, SearchResult[]>()
  for (const result of results) {
    const group = groups.get(result.documentId)
    if (group) group.push(result)
    else groups.set(result.documentId, [result])
  }
  return [...groups.values()].flatMap((members) => {
    const [first] = members
    if (!first) return []
    const { documentId, documentTitle: title, documentType: type, path, updatedAt } = first
    return [{ documentId, title, type, path, updatedAt, results: members }]
  })
}

/** Returns the range of the document's text that a result leads to: its first highlight, or all of its snippet. */
export function targetOf(result: SearchResult): [number, number] {
  const [highlight] = result.highlights
  if (!highlight) return [result.startOffset, result.endOffset]
  return [result.startOffset + (highlight[0] ?? 0), result.startOffset + (highlight[1] ?? 0)]
}
