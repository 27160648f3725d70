const LIMIT = 12

const keyOf = (projectId: number) => `findspot.recent.${projectId}`

/** Returns the documents that were opened last in this browser, the newest first. */
export function recentDocuments(projectId: number): number[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(projectId)) ?? '[]')
    return Array.isArray(kept) ? kept.filter((id): id is number => Number.isInteger(id)) : []
  } catch (error) {
    if (error instanceof SyntaxError) return []
    throw error
  }
}

export function remember(projectId: number, documentId: number): void {
  const others = recentDocuments(projectId).filter((id) => id !== documentId)
  localStorage.setItem(keyOf(projectId), JSON.stringify([documentId, ...others].slice(0, LIMIT)))
}
