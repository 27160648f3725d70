import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ApiFailure, api, type ReplacePreview } from '../../api'
import { Button, IconButton } from '../../components/Button'
import { Segments } from '../../components/Field'
import { useOpenDocument } from '../../components/openDocument'
import { useNavigateTo } from '../../components/PageLink'
import { Panel } from '../../components/Panel'
import { Failed, Loading, Notice, Screen } from '../../components/Screen'
import { useMay } from '../../components/session'
import { useTyped } from '../../components/useTyped'
import { useText } from '../../i18n/language'
import { ConfirmReplace } from './ConfirmReplace'
import { PastReplaces } from './PastReplaces'
import { PreviewList } from './PreviewList'
import { ReplaceFields } from './ReplaceFields'
import styles from './replace.module.css'
import { counts, keyOf, NO_RULE, type Place, placesOf, type Rule } from './rule'
import { type ReplaceScope, usePreview, useReplacing, withNextPage } from './useReplace'

export function ReplacePanel({
  projectId,
  scope: wanted,
  addressOf,
  onClose,
}: {
  projectId: number
  scope: 'document' | 'project'
  addressOf: (documentId: number, start: number, end: number) => string
  onClose: () => void
}) {
  const { t } = useText()
  const mayWrite = useMay('write')
  const { open } = useOpenDocument()
  const [scopeKind, setScopeKind] = useState(wanted)
  useEffect(() => setScopeKind(wanted), [wanted])
  const scope: ReplaceScope =
    scopeKind === 'document' && open ? { kind: 'document', documentId: open.id } : { kind: 'project' }
  const search = useTyped('', 220)
  const replace = useTyped('', 220)
  const [flags, setFlags] = useState(NO_RULE)
  const rule: Rule = { ...flags, search: search.settled, replace: replace.settled }
  const settle = useCallback(async () => open?.settle(), [open])
  const queries = useQueryClient()
  const preview = usePreview(projectId, rule, scope, settle)
  const { unticked, toggle, current, setCurrent, clear } = useTicks(preview.data)
  const [asking, setAsking] = useState(false)
  const reload = open?.reload
  const { execute, undo, replaceOne } = useReplacing(projectId, settle, () => {
    clear()
    reload?.()
  })
  const places = useMemo(() => (preview.data ? placesOf(preview.data) : []), [preview.data])
  const place = places[Math.min(current, places.length - 1)]
  useMarks(projectId, rule, preview.data, place)
  useOpenMatch(place, preview.data, addressOf)

  const busy = execute.isPending || replaceOne.isPending
  const chosen = preview.data && counts(preview.data, unticked)
  const more = useMutation({
    mutationFn: (shown: ReplacePreview) => withNextPage(projectId, shown),
    onSuccess: (next) => queries.setQueryData(['replace', 'preview', projectId, rule, scope], next),
  })
  const choose = useCallback(
    (chosenPlace: Place) => setCurrent(places.findIndex((each) => keyOf(each) === keyOf(chosenPlace))),
    [places, setCurrent],
  )
  return (
    <Panel
      onClose={onClose}
      controls={
        <>
          <header className={styles.head}>
            <h2>{t('replace.title')}</h2>
            <IconButton icon="close" label={t('close')} onClick={onClose} />
          </header>
          <ReplaceFields
            search={search.field}
            replace={replace.field}
            rule={flags}
            error={
              preview.error instanceof ApiFailure && preview.error.status === 422 ? preview.error.message : undefined
            }
            onFlags={setFlags}
          />
          {open && (
            <Segments
              label={t('replace.scope')}
              value={scope.kind}
              onChange={setScopeKind}
              options={[
                ['document', t('replace.inDocument')],
                ['project', t('replace.inProject')],
              ]}
            />
          )}
          {chosen && rule.search && (
            <div className={styles.bar}>
              <p aria-live="polite">{t('replace.counts', { documents: chosen.documents, matches: chosen.matches })}</p>
              <IconButton
                size="small"
                icon="down"
                label={t('replace.next')}
                disabled={places.length === 0}
                onClick={() => setCurrent((current + 1) % places.length)}
              />
              <IconButton
                size="small"
                icon="up"
                label={t('replace.previous')}
                disabled={places.length === 0}
                onClick={() => setCurrent((current - 1 + places.length) % places.length)}
              />
            </div>
          )}
          {mayWrite && chosen && place && (
            <div className={styles.bar}>
              <Button size="small" disabled={busy} onClick={() => replaceOne.mutate({ rule, place })}>
                {t('replace.one')}
              </Button>
              <Button
                size="small"
                onClick={() => {
                  if (!unticked.has(keyOf(place))) toggle([place])
                  setCurrent((current + 1) % places.length)
                }}
              >
                {t('replace.skip')}
              </Button>
              <Button
                size="small"
                variant="primary"
                disabled={busy || chosen.matches === 0 || preview.isFetching}
                onClick={() => setAsking(true)}
              >
                {t('replace.all')}
              </Button>
            </div>
          )}
        </>
      }
    >
      <Body
        rule={rule}
        preview={preview.data}
        pending={preview.isPending}
        error={preview.error}
        unticked={unticked}
        place={place}
        failure={execute.error ?? replaceOne.error ?? undo.error ?? more.error}
        onRetry={() => void preview.refetch()}
        onTick={toggle}
        onMore={() => preview.data && more.mutate(preview.data)}
        onChoose={choose}
      />
      <PastReplaces projectId={projectId} undoing={undo.isPending} onUndo={(id) => undo.mutate(id)} />
      {asking && preview.data && chosen && (
        <ConfirmReplace
          rule={rule}
          counts={chosen}
          risky={preview.data.needsConfirmedRisk}
          onCancel={() => setAsking(false)}
          onConfirm={(confirmedRisk) => {
            setAsking(false)
            if (preview.data) execute.mutate({ preview: preview.data, unticked, confirmedRisk })
          }}
        />
      )}
    </Panel>
  )
}

function Body({
  rule,
  preview,
  pending,
  error,
  unticked,
  place,
  failure,
  onRetry,
  onTick,
  onMore,
  onChoose,
}: {
  rule: Rule
  preview: ReplacePreview | undefined
  pending: boolean
  error: Error | null
  unticked: ReadonlySet<string>
  place: Place | undefined
  failure: Error | null
  onRetry: () => void
  onTick: (places: readonly Place[]) => void
  onMore: () => void
  onChoose: (place: Place) => void
}) {
  const { t } = useText()
  if (rule.search === '') {
    return (
      <Screen icon="replace" title={t('replace.start')}>
        {t('replace.startText')}
      </Screen>
    )
  }
  if (error) {
    const wrong = error instanceof ApiFailure && error.status === 422
    return wrong ? null : <Failed error={error} onRetry={onRetry} />
  }
  if (pending || !preview) return <Loading />
  if (preview.totalMatches === 0) {
    return (
      <Screen icon="search" title={t('replace.none')}>
        {t('replace.noneText')}
      </Screen>
    )
  }
  return (
    <>
      {failure && <Notice tone="bad">{failure.message}</Notice>}
      <PreviewList
        preview={preview}
        unticked={unticked}
        current={place}
        onTick={onTick}
        onMore={onMore}
        onChoose={onChoose}
      />
    </>
  )
}

const NONE: ReadonlySet<string> = new Set()

/** Which matches are ticked and which one is current. Both begin anew with another preview. */
function useTicks(preview: ReplacePreview | undefined) {
  const id = preview?.previewId ?? 0
  const [state, setState] = useState({ id, unticked: NONE, current: 0 })
  const now = state.id === id ? state : { id, unticked: NONE, current: 0 }
  const toggle = useCallback(
    (places: readonly Place[]) =>
      setState((before) => {
        const keys = places.map(keyOf)
        const unticked = new Set(before.id === id ? before.unticked : NONE)
        const off = keys.every((key) => unticked.has(key))
        for (const key of keys) {
          if (off) unticked.delete(key)
          else unticked.add(key)
        }
        return { id, unticked, current: before.id === id ? before.current : 0 }
      }),
    [id],
  )
  const setCurrent = useCallback(
    (current: number) =>
      setState((before) => ({
        id,
        unticked: before.id === id ? before.unticked : NONE,
        current: Math.max(0, current),
      })),
    [id],
  )
  const clear = () => setState({ id, unticked: NONE, current: 0 })
  return { unticked: now.unticked, current: now.current, toggle, setCurrent, clear }
}

/** Marks the matches in the open document, by the same rule as the replace. */
function useMarks(projectId: number, rule: Rule, preview: ReplacePreview | undefined, place: Place | undefined) {
  const { open } = useOpenDocument()
  const openId = open?.id
  const mark = open?.mark
  const { search, caseSensitive, wholeWord, regex } = rule
  const found = useQuery({
    queryKey: ['replace', 'match', projectId, openId, preview?.previewId],
    enabled: openId !== undefined && search !== '' && preview !== undefined,
    queryFn: async ({ signal }) => {
      const body = { documentId: openId ?? 0, search, caseSensitive, wholeWord, regex }
      const { data } = await api.findInDocument({ path: { project_id: projectId }, body, signal, throwOnError: true })
      return data.matches
    },
    retry: false,
    gcTime: 0,
  })
  const matches = search === '' ? undefined : found.data
  const current = place && place.documentId === openId ? place.start : null
  useEffect(() => {
    if (!mark) return
    const ranges = matches ?? []
    mark(
      ranges,
      ranges.findIndex((range) => range.start === current),
    )
  }, [mark, matches, current])
  useEffect(() => () => mark?.([], -1), [mark])
}

/** Opens the document of the current match when the reader steps to it. */
function useOpenMatch(
  place: Place | undefined,
  preview: ReplacePreview | undefined,
  addressOf: (documentId: number, start: number, end: number) => string,
) {
  const navigate = useNavigateTo()
  const { open } = useOpenDocument()
  const openId = open?.id
  const stepped = useRef<string | null>(null)
  const key = place && preview ? `${preview.previewId}:${keyOf(place)}` : null
  useEffect(() => {
    const first = stepped.current === null || stepped.current.split(':')[0] !== key?.split(':')[0]
    const moved = stepped.current !== key
    stepped.current = key
    if (first || !moved || !place || place.documentId === openId) return
    navigate(addressOf(place.documentId, place.start, place.start + 1))
  }, [key, place, openId, navigate, addressOf])
}
