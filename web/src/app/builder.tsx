import { useParams, useSearch } from '@tanstack/react-router'
import { useCallback, useRef } from 'react'
import { useNavigateTo } from '../components/PageLink'
import { Retrieval } from '../features/retrieval/Retrieval'
import { Status } from '../features/status/Status'
import { TablePage } from '../features/tables/TablePage'
import { Tables } from '../features/tables/Tables'
import { Endpoints } from '../features/tools/Endpoints'
import { Playground } from '../features/tools/Playground'
import { Tools } from '../features/tools/Tools'
import { address } from './addresses'
import { type Edited, LeaveGuard } from './LeaveGuard'

function useProjectId(): number {
  return Number(useParams({ from: '/projects/$projectId' }).projectId)
}

export function TablesPage() {
  const projectId = useProjectId()
  return <Tables projectId={projectId} addressOf={address(projectId).table} />
}

export function OneTablePage() {
  const projectId = useProjectId()
  const navigate = useNavigateTo()
  const { tableId } = useParams({ from: '/projects/$projectId/tables/$tableId' })
  const drafts = useRef(0)
  const count = useCallback((now: number) => {
    drafts.current = now
  }, [])
  const edited = useRef<Edited>({
    isSaved: () => drafts.current === 0,
    isInConflict: () => false,
    flush: async () => undefined, // only the reader decides what is saved
    discard: () => undefined,
  })
  return (
    <>
      <LeaveGuard editor={edited} />
      <TablePage
        key={tableId}
        projectId={projectId}
        tableId={Number(tableId)}
        onCreateTool={(table, pointer) => navigate(address(projectId).newTool(table, pointer))}
        onDrafts={count}
      />
    </>
  )
}

export function ToolsPage() {
  const projectId = useProjectId()
  const { table, pointer } = useSearch({ from: '/projects/$projectId/tools' })
  const scope = table === undefined ? undefined : { tableId: table, pointer: pointer ?? '' }
  return <Tools projectId={projectId} addressOf={address(projectId).tool} scope={scope} />
}

export function PlaygroundPage() {
  const { toolId } = useParams({ from: '/projects/$projectId/tools/$toolId' })
  return <Playground key={toolId} toolId={Number(toolId)} />
}

export function EndpointsPage() {
  return <Endpoints projectId={useProjectId()} />
}

export function RetrievalPage() {
  const projectId = useProjectId()
  return <Retrieval projectId={projectId} addressOf={address(projectId).match} />
}

export function StatusPage() {
  return <Status projectId={useProjectId()} />
}
