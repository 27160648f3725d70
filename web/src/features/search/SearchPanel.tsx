import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { listDocumentsOptions } from '../../api'
import { IconButton } from '../../components/Button'
import { ComboField } from '../../components/ComboField'
import { BareField, Segments, SelectField } from '../../components/Field'
import { Panel } from '../../components/Panel'
import { isComposing, useTyped } from '../../components/useTyped'
import { useText } from '../../i18n/language'
import { clearHistory, readHistory, remember } from './history'
import { SearchScreen } from './SearchScreen'
import styles from './search.module.css'
import { type Filters, type Strategy, useSearch } from './useSearch'

export function SearchPanel({
  projectId,
  addressOf,
  onOpened,
  onClose,
}: {
  projectId: number
  addressOf: (documentId: number, start: number, end: number) => string
  onOpened: () => void
  onClose: () => void
}) {
  const { t } = useText()
  const input = useRef<HTMLInputElement>(null)
  const typed = useTyped()
  const [strategy, setStrategy] = useState<Strategy>('hybrid')
  const [filters, setFilters] = useState<Filters>({})
  const [filtering, setFiltering] = useState(false)
  const [history, setHistory] = useState(() => readHistory(projectId))
  const { state, loadMore, retry } = useSearch(projectId, { query: typed.settled, strategy, filters })

  useEffect(() => {
    const focus = () => input.current?.select()
    const before = document.activeElement
    focus()
    window.addEventListener('findspot:focus-panel', focus)
    return () => {
      window.removeEventListener('findspot:focus-panel', focus)
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const keep = useCallback(() => {
    setHistory(remember(projectId, typed.settled))
    onOpened()
  }, [projectId, typed.settled, onOpened])
  const more = useCallback(() => void loadMore(), [loadMore])
  const again = useCallback(() => void retry(), [retry])
  const forget = useCallback(() => setHistory(clearHistory(projectId)), [projectId])
  return (
    <Panel
      onClose={onClose}
      controls={
        <>
          <div className={styles.queryRow}>
            <BareField
              ref={input}
              type="search"
              placeholder={t('search.placeholder')}
              label={t('search.title')}
              {...typed.field}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && !isComposing(event)) {
                  typed.set(event.currentTarget.value)
                  setHistory(remember(projectId, event.currentTarget.value))
                }
              }}
            />
            <IconButton
              icon="filter"
              label={t('search.filters')}
              aria-pressed={filtering || Object.keys(filters).length > 0}
              aria-expanded={filtering}
              onClick={() => setFiltering(!filtering)}
            />
            <IconButton icon="close" label={t('close')} onClick={onClose} />
          </div>
          <Segments
            label={t('search.strategy')}
            value={strategy}
            onChange={setStrategy}
            options={[
              ['hybrid', t('search.hybrid')],
              ['fts', t('search.fts')],
              ['semantic', t('search.semantic')],
            ]}
          />
          {filtering && <FilterFields projectId={projectId} filters={filters} onChange={setFilters} />}
        </>
      }
    >
      <SearchScreen
        state={state}
        projectId={projectId}
        history={history}
        addressOf={addressOf}
        onOpened={keep}
        onMore={more}
        onQuery={typed.set}
        onRetry={again}
        onClearHistory={forget}
      />
    </Panel>
  )
}

function FilterFields({
  projectId,
  filters,
  onChange,
}: {
  projectId: number
  filters: Filters
  onChange: (filters: Filters) => void
}) {
  const { t } = useText()
  const documents = useQuery(listDocumentsOptions({ path: { project_id: projectId } }))
  const list = documents.data?.documents
  const titles = useMemo(() => list?.map((each) => ({ value: each.id, label: each.title })) ?? [], [list])
  const types = [...new Set(list?.map((each) => each.type))].sort()
  const change = (changed: Partial<Record<keyof Filters, string | number | undefined>>) => {
    const next = { ...filters, ...changed }
    onChange(Object.fromEntries(Object.entries(next).filter(([, value]) => value)) as Filters)
  }
  return (
    <div className={styles.filters}>
      <ComboField
        label={t('search.inDocument')}
        any={t('search.anyDocument')}
        none={t('documents.noMatch')}
        options={titles}
        value={filters.documentId}
        onChange={(documentId) => change({ documentId })}
      />
      <SelectField
        label={t('type')}
        value={filters.type ?? ''}
        onChange={(event) => change({ type: event.target.value || undefined })}
        options={[['', t('search.anyType')], ...types.map((type) => [type, type] as const)]}
      />
      <SelectField
        label={t('changed')}
        value={filters.days ?? ''}
        onChange={(event) => change({ days: Number(event.target.value) || undefined })}
        options={[
          ['', t('search.anyTime')],
          ['7', t('search.days', { count: 7 })],
          ['30', t('search.days', { count: 30 })],
          ['365', t('search.year')],
        ]}
      />
    </div>
  )
}
