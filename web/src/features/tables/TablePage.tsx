import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useState } from 'react'
import { type Child, listTablesOptions, listToolsOptions } from '../../api'
import { Failed, Page, Screen } from '../../components/Screen'
import { useText } from '../../i18n/language'
import { bytes } from '../../text/format'
import { NodePanel } from './NodePanel'
import { TreeView } from './TreeView'
import styles from './tables.module.css'
import { childAt, isWithin } from './tree'
import { useTree } from './useTree'

export function TablePage({
  projectId,
  tableId,
  onCreateTool,
  onDrafts,
}: {
  projectId: number
  tableId: number
  onCreateTool: (tableId: number, pointer: string) => void
  /** Hears how many typed values are not saved. */
  onDrafts: (count: number) => void
}) {
  const { t, language } = useText()
  const tables = useQuery(listTablesOptions({ path: { project_id: projectId } }))
  const tools = useQuery(listToolsOptions({ path: { project_id: projectId } }))
  const { tree, root, revision, error, open, close, more, refresh } = useTree(tableId)
  const [chosen, setChosen] = useState<Child | null>(null)
  const selected = chosen && (chosen.json_pointer === '' ? root : (childAt(tree, chosen.json_pointer) ?? chosen))
  const { drafts, draft } = useDrafts(onDrafts)
  const table = tables.data?.tables.find((each) => each.id === tableId)
  const searching = (tools.data?.tools ?? []).filter((each) => each.type === 'search' && each.table_id === tableId)
  const covering = (child: Child) => searching.filter((tool) => isWithin(child.json_pointer, tool.json_pointer))
  const isIndexed = useCallback(
    (child: Child) =>
      searching.some(
        (tool) =>
          isWithin(child.json_pointer, tool.json_pointer) &&
          (child.length ?? -1) >= (tool.search_config?.chunk_threshold ?? 1),
      ),
    [searching],
  )
  if (error && !root) return <Failed error={error} onRetry={() => open('')} />
  return (
    <Page
      wide
      title={table?.name ?? '\u00a0'}
      text={
        !table
          ? '\u00a0'
          : t('tables.facts', { size: bytes(table.size, language), revision: revision || table.revision })
      }
    >
      <div className={styles.split}>
        <TreeView
          tree={tree}
          root={root}
          label={t('tables.tree', { name: table?.name ?? '' })}
          selected={selected?.json_pointer ?? null}
          isIndexed={isIndexed}
          isEdited={(child) => drafts.has(child.json_pointer)}
          onSelect={setChosen}
          onOpen={open}
          onClose={close}
          onMore={more}
        />
        <aside className={styles.node} aria-label={t('tables.node')}>
          {selected ? (
            <NodePanel
              key={selected.json_pointer}
              tableId={tableId}
              revision={revision}
              node={selected}
              draft={drafts.get(selected.json_pointer)}
              onDraft={(text) => draft(selected.json_pointer, text)}
              tools={covering(selected).map((tool) => tool.name)}
              onCreateTool={() => onCreateTool(tableId, selected.json_pointer)}
              onRefresh={() => refresh(selected.json_pointer)}
            />
          ) : (
            <Screen icon="table" title={t('tables.choose')}>
              {t('tables.chooseText')}
            </Screen>
          )}
        </aside>
      </div>
    </Page>
  )
}

/** Keeps what was typed for each node until it is saved, also while another node is shown. */
function useDrafts(onCount: (count: number) => void) {
  const [drafts, setDrafts] = useState<ReadonlyMap<string, string>>(new Map())
  const count = drafts.size
  useEffect(() => {
    onCount(count)
    if (count === 0) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener('beforeunload', warn)
    return () => window.removeEventListener('beforeunload', warn)
  }, [count, onCount])
  const draft = useCallback((pointer: string, text: string | undefined) => {
    setDrafts((before) => {
      const next = new Map(before)
      if (text === undefined) next.delete(pointer)
      else next.set(pointer, text)
      return next
    })
  }, [])
  return { drafts, draft }
}
