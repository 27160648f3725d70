import { useQuery } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { type Child, listTablesOptions, listToolsOptions } from '../../api'
import { Failed, Page, Screen } from '../../components/Screen'
import { useText } from '../../i18n/language'
import { bytes } from '../../text/format'
import { NodePanel } from './NodePanel'
import { TreeView } from './TreeView'
import styles from './tables.module.css'
import { isWithin } from './tree'
import { useTree } from './useTree'

export function TablePage({
  projectId,
  tableId,
  onCreateTool,
}: {
  projectId: number
  tableId: number
  onCreateTool: (tableId: number, pointer: string) => void
}) {
  const { t, language } = useText()
  const tables = useQuery(listTablesOptions({ path: { project_id: projectId } }))
  const tools = useQuery(listToolsOptions({ path: { project_id: projectId } }))
  const { tree, revision, error, open, close, more, refresh } = useTree(tableId)
  const [selected, setSelected] = useState<Child | null>(null)
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
  if (error && tree.size === 0) return <Failed error={error} onRetry={() => open('')} />
  return (
    <Page
      wide
      title={table?.name ?? ''}
      text={table && t('tables.facts', { size: bytes(table.size, language), revision: revision || table.revision })}
    >
      <div className={styles.split}>
        <TreeView
          tree={tree}
          label={t('tables.tree', { name: table?.name ?? '' })}
          selected={selected?.json_pointer ?? null}
          isIndexed={isIndexed}
          onSelect={setSelected}
          onOpen={open}
          onClose={close}
          onMore={more}
        />
        <aside className={styles.node} aria-label={t('tables.node')}>
          {selected ? (
            <NodePanel
              key={`${selected.json_pointer}:${revision}`}
              tableId={tableId}
              revision={revision}
              node={selected}
              tools={covering(selected).map((tool) => tool.name)}
              onCreateTool={() => onCreateTool(tableId, selected.json_pointer)}
              onSaved={() => refresh(selected.json_pointer)}
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
