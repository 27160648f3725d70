/** The latest searches of a project, kept in this browser only. */

const LIMIT = 12
const keyOf = (projectId: number) => `findspot.searches.${projectId}`

export function readHistory(projectId: number): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(projectId)) ?? '[]')
    return Array.isArray(kept) ? kept.filter((each) => typeof each === 'string') : []
  } catch (error) {
    if (error instanceof SyntaxError) return []
    throw error
  }
}

export function remember(projectId: number, query: string): string[] {
  const wanted = query.trim()
  const before = readHistory(projectId)
  if (!wanted) return before
  const now = [wanted, ...before.filter((each) => each !== wanted)].slice(0, LIMIT)
  localStorage.setItem(keyOf(projectId), JSON.stringify(now))
  return now
}

export function clearHistory(projectId: number): string[] {
  localStorage.removeItem(keyOf(projectId))
  return []
}
