import { useParams } from '@tanstack/react-router'
import { Documents } from '../features/documents/DocumentList'
import { address } from './addresses'

function useProjectId(): number {
  return Number(useParams({ from: '/projects/$projectId' }).projectId)
}

export function DocumentsPage() {
  const projectId = useProjectId()
  return <Documents projectId={projectId} addressOf={address(projectId).document} />
}
