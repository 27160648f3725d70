import { useCallback, useEffect, useRef, useState } from 'react'
import { api, type Child } from '../../api'
import { PAGE_SIZE, type Tree, withLoading, without, withPage } from './tree'

/** Fetches the members of nodes of a table when they are opened. */
export function useTree(tableId: number) {
  const [tree, setTree] = useState<Tree>(new Map())
  const [root, setRoot] = useState<Child | null>(null)
  const [revision, setRevision] = useState(0)
  const [error, setError] = useState<unknown>(null)
  const latest = useRef(tree)
  latest.current = tree

  const load = useCallback(
    async (pointer: string, offset: number) => {
      setTree((now) => withLoading(now, pointer))
      try {
        const { data } = await api.listChildren({
          path: { table_id: tableId },
          query: { json_pointer: pointer, offset, limit: PAGE_SIZE },
          throwOnError: true,
        })
        setRevision(data.revision)
        if (pointer === '') {
          setRoot({ key: '', json_pointer: '', kind: data.kind, size: data.size, length: null, preview: '' })
        }
        setError(null)
        setTree((now) => (now.has(pointer) ? withPage(now, pointer, offset, data.children, data.count) : now))
      } catch (reason) {
        setError(reason)
        setTree((now) => without(now, pointer))
      }
    },
    [tableId],
  )
  useEffect(() => {
    setTree(new Map())
    void load('', 0)
  }, [load])

  const open = useCallback((pointer: string) => void load(pointer, 0), [load])
  const close = useCallback((pointer: string) => setTree((now) => without(now, pointer)), [])
  const more = useCallback(
    (pointer: string) => {
      const opened = latest.current.get(pointer)
      if (opened && !opened.loading) void load(pointer, opened.children.length)
    },
    [load],
  )
  /** Loads the first page of a node and of the nodes below it anew, after a change. */
  const refresh = useCallback(
    async (pointer: string) => {
      const opened = [...latest.current.keys()].filter((each) => each === pointer || pointer.startsWith(`${each}/`))
      await Promise.all([...new Set(['', ...opened])].map((each) => load(each, 0)))
    },
    [load],
  )
  return { tree, root, revision, error, open, close, more, refresh }
}
