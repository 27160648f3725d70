import { useEffect, useState } from 'react'
import { z } from 'zod'
import type { ProjectStatus } from '../api'
import { zProjectStatus } from '../api/generated/zod.gen'

/** Follows the status of a project by server-sent events while `active`. The browser connects again by itself. */
export function useProjectStatus(projectId: number, active: boolean): ProjectStatus | null {
  const [status, setStatus] = useState<ProjectStatus | null>(null)
  useEffect(() => {
    if (!active || typeof EventSource === 'undefined') return
    const events = new EventSource(`/api/v1/projects/${projectId}/status/events`)
    events.addEventListener('status', (event) => {
      const read = z.safeParse(zProjectStatus, JSON.parse(String(event.data)))
      if (read.success) setStatus(read.data as ProjectStatus)
    })
    return () => events.close()
  }, [projectId, active])
  return status
}
