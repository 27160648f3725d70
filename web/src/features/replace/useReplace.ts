import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, type ReplacePreview } from '../../api'
import { useToast } from '../../components/Toast'
import { useText } from '../../i18n/language'
import { exclusions, type Place, type Rule } from './rule'

export type ReplaceScope = { readonly kind: 'project' } | { readonly kind: 'document'; readonly documentId: number }

const bodyOf = (rule: Rule, scope: ReplaceScope) => ({
  ...rule,
  scope: scope.kind,
  ...(scope.kind === 'document' ? { documentId: scope.documentId } : {}),
})

/** Previews a replace whenever its rule changes. Nothing is changed by that. */
export function usePreview(projectId: number, rule: Rule, scope: ReplaceScope, settle: () => Promise<void>) {
  return useQuery({
    queryKey: ['replace', 'preview', projectId, rule, scope] as const,
    enabled: rule.search !== '',
    queryFn: async ({ signal }) => {
      await settle()
      const body = bodyOf(rule, scope)
      const { data } = await api.previewReplace({ path: { project_id: projectId }, body, signal, throwOnError: true })
      return data
    },
    placeholderData: (before) => before,
    retry: false,
    gcTime: 0,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  })
}

/** Returns the matches of one more page added to a preview. */
export async function withNextPage(projectId: number, preview: ReplacePreview): Promise<ReplacePreview> {
  const body = { previewId: preview.previewId, page: preview.page + 1 }
  const { data } = await api.previewReplace({ path: { project_id: projectId }, body, throwOnError: true })
  const items = [...preview.items]
  for (const item of data.items) {
    const last = items.at(-1)
    if (last?.documentId === item.documentId) {
      items[items.length - 1] = { ...last, matches: [...last.matches, ...item.matches] }
    } else items.push(item)
  }
  return { ...data, items }
}

/**
 * Executes and undoes replaces. Every change can be taken back from its toast, and later from the list. `settle` saves
 * what was typed before a change, so that the documents are loaded again without losing it.
 */
export function useReplacing(projectId: number, settle: () => Promise<void>, onChanged: () => void) {
  const { t } = useText()
  const toast = useToast()
  const queries = useQueryClient()
  const path = { project_id: projectId }
  const changed = () => {
    void queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== 'search' })
    void queries.invalidateQueries({ queryKey: ['search'] })
    onChanged()
  }
  const undo = useMutation({
    mutationFn: async (previewId: number) => {
      await settle()
      const { data } = await api.undoReplace({ path, body: { previewId }, throwOnError: true })
      return data
    },
    onSuccess: (outcome) => {
      toast({ text: outcome.notice })
      changed()
    },
  })
  const execute = useMutation({
    mutationFn: async (given: { preview: ReplacePreview; unticked: ReadonlySet<string>; confirmedRisk: boolean }) => {
      await settle()
      const body = {
        previewId: given.preview.previewId,
        confirmed: true as const,
        confirmedRisk: given.confirmedRisk,
        exclude: exclusions(given.preview, given.unticked),
      }
      const { data } = await api.executeReplace({ path, body, throwOnError: true })
      return { outcome: data, previewId: given.preview.previewId }
    },
    onSuccess: ({ outcome, previewId }) => {
      toast({
        text: 'notice' in outcome ? outcome.notice : t('replace.done'),
        action: { label: t('undo'), run: () => undo.mutate(previewId) },
      })
      changed()
    },
  })
  /** Replaces a single match, by a preview of its document in which all others are left out. */
  const replaceOne = useMutation({
    mutationFn: async ({ rule, place }: { rule: Rule; place: Place }) => {
      await settle()
      const scope: ReplaceScope = { kind: 'document', documentId: place.documentId }
      const { data } = await api.previewReplace({ path, body: bodyOf(rule, scope), throwOnError: true })
      let preview = data
      while (preview.hasMore) preview = await withNextPage(projectId, preview)
      const others = preview.items.flatMap((item) =>
        item.matches.filter((match) => match.start !== place.start).map((match) => `${item.documentId}:${match.start}`),
      )
      return execute.mutateAsync({ preview, unticked: new Set(others), confirmedRisk: preview.needsConfirmedRisk })
    },
  })
  return { execute, undo, replaceOne }
}
