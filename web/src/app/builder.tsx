import { useParams, useSearch } from '@tanstack/react-router'
import { useNavigateTo } from '../components/PageLink'
import { Retrieval } from '../features/retrieval/Retrieval'
import { Status } from '../features/status/Status'
import { TablePage } from '../features/tables/TablePage'
import { Tables } from '../features/tables/Tables'
import { Endpoints } from '../features/tools/Endpoints'
import { Playground } from '../features/tools/Playground'
import { Tools } from '../features/tools/Tools'
import { address } from './addresses'

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
  return (
    <TablePage
      key={tableId}
      projectId={projectId}
      tableId={Number(tableId)}
      onCreateTool={(table, pointer) => navigate(address(projectId).newTool(table, pointer))}
    />
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
