import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react'
import type { Child } from '../../api'
import { Icon } from '../../components/Icon'
import { Badge } from '../../components/Screen'
import { useText } from '../../i18n/language'
import { bytes } from '../../text/format'
import styles from './tables.module.css'
import { isContainer, type Row, rowsFrom, type Tree } from './tree'

const ROW_HEIGHT = 30

interface Props {
  readonly tree: Tree
  readonly root: Child | null
  readonly label: string
  readonly selected: string | null
  readonly isIndexed: (child: Child) => boolean
  /** Whether a value was typed for this node and not saved. */
  readonly isEdited: (child: Child) => boolean
  readonly onSelect: (child: Child) => void
  readonly onOpen: (pointer: string) => void
  readonly onClose: (pointer: string) => void
  readonly onMore: (pointer: string) => void
}

/** The nodes of a table as a tree. Only the rows in view are in the page, so that its size does not matter. */
export function TreeView(props: Props) {
  const { tree, root, label, selected, isIndexed, isEdited, onSelect, onOpen, onClose, onMore } = props
  const id = useId()
  const scroll = useRef<HTMLDivElement>(null)
  const rows = useMemo(() => rowsFrom(root, tree), [root, tree])
  const [active, setActive] = useState(0)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    initialRect: { width: 600, height: 480 },
  })
  const items = virtual.getVirtualItems()
  useMoreInView(rows, items.at(-1)?.index ?? -1, onMore)

  const move = (to: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, to))
    setActive(next)
    virtual.scrollToIndex(next)
    const row = rows[next]
    if (row?.kind === 'node') onSelect(row.child)
  }
  const toggle = (row: Row) => {
    if (row.kind !== 'node') onMore(row.parent)
    else if (isContainer(row.child)) (row.opened ? onClose : onOpen)(row.child.json_pointer)
  }
  const press = (event: KeyboardEvent) => {
    const row = rows[active]
    if (!row) return
    const node = row.kind === 'node' ? row : null
    const keys: Record<string, () => void> = {
      ArrowDown: () => move(active + 1),
      ArrowUp: () => move(active - 1),
      Home: () => move(0),
      End: () => move(rows.length - 1),
      PageDown: () => move(active + 15),
      PageUp: () => move(active - 15),
      Enter: () => toggle(row),
      ' ': () => toggle(row),
      ArrowRight: () => (node && isContainer(node.child) && !node.opened ? toggle(node) : move(active + 1)),
      ArrowLeft: () => (node?.opened ? toggle(node) : move(parentOf(rows, active))),
    }
    const action = keys[event.key]
    if (!action) return
    event.preventDefault()
    action()
  }
  return (
    <div
      ref={scroll}
      className={styles.tree}
      role="tree"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={items.some((item) => item.index === active) ? `${id}-${active}` : undefined}
      onKeyDown={press}
    >
      <div role="none" className={styles.rows} style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const row = rows[item.index]
          if (!row) return null
          return (
            <TreeRow
              key={row.kind === 'node' ? row.child.json_pointer : `${row.parent}…`}
              id={`${id}-${item.index}`}
              row={row}
              top={item.start}
              active={item.index === active}
              selected={row.kind === 'node' && row.child.json_pointer === selected}
              indexed={row.kind === 'node' && isIndexed(row.child)}
              edited={row.kind === 'node' && isEdited(row.child)}
              onClick={() => {
                setActive(item.index)
                if (row.kind === 'node') onSelect(row.child)
                toggle(row)
              }}
            />
          )
        })}
      </div>
    </div>
  )
}

/** Loads further members when their end comes into view. */
function useMoreInView(rows: readonly Row[], last: number, onMore: (pointer: string) => void) {
  const row = rows[last]
  const parent = row?.kind === 'more' && !row.loading ? row.parent : null
  useEffect(() => {
    if (parent !== null) onMore(parent)
  }, [parent, onMore])
}

function parentOf(rows: readonly Row[], index: number): number {
  const level = rows[index]?.level ?? 1
  for (let at = index - 1; at >= 0; at -= 1) if ((rows[at]?.level ?? 1) < level) return at
  return index
}

function TreeRow({
  id,
  row,
  top,
  active,
  selected,
  indexed,
  edited,
  onClick,
}: {
  id: string
  row: Row
  top: number
  active: boolean
  selected: boolean
  indexed: boolean
  edited: boolean
  onClick: () => void
}) {
  const { t, language } = useText()
  const place = { transform: `translateY(${top}px)`, paddingLeft: `${(row.level - 1) * 1.1 + 0.5}rem` }
  if (row.kind === 'more') {
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the tree itself handles keys
      // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and names the active row
      <div
        id={id}
        role="treeitem"
        className={styles.row}
        aria-level={row.level}
        style={place}
        onClick={onClick}
        aria-selected={false}
      >
        <span className={styles.soft}>{row.loading ? t('loading') : t('tables.more', { count: row.rest })}</span>
      </div>
    )
  }
  const { child } = row
  const container = isContainer(child)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree itself handles keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and names the active row
    <div
      id={id}
      role="treeitem"
      className={styles.row}
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-expanded={container ? row.opened : undefined}
      aria-selected={selected}
      data-active={active}
      style={place}
      onClick={onClick}
    >
      <span className={styles.twist}>{container && <Icon name={row.opened ? 'down' : 'right'} />}</span>
      <span className={styles.key} title={child.key}>
        {child.json_pointer === '' ? t('tables.root') : child.key || '""'}
      </span>
      <span className={styles.preview}>{container ? t(`kind.${child.kind}`) : child.preview}</span>
      {edited && <Badge tone="warn">{t('save.refused')}</Badge>}
      {indexed && <Badge tone="good">{t('tables.indexed')}</Badge>}
      <span className={styles.size}>{bytes(child.size, language)}</span>
    </div>
  )
}
