/** Reads what the status page shows from the server's metrics in Prometheus' text format. */

export interface Bucket {
  readonly upTo: string
  readonly count: number
}

/** Returns how many searches of a project took how long: one bucket for each bound, in seconds. */
export function searchTimes(metrics: string, projectId: number): Bucket[] {
  const line = /^search_duration_seconds_bucket\{([^}]*)\} ([\d.e+]+)$/gm
  const totals: [string, number][] = []
  for (const [, labels = '', value = '0'] of metrics.matchAll(line)) {
    const bound = /le="([^"]+)"/.exec(labels)?.[1]
    if (bound && labels.includes(`project_id="${projectId}"`)) totals.push([bound, Number(value)])
  }
  return totals.map(([upTo, total], index) => ({ upTo, count: total - (totals[index - 1]?.[1] ?? 0) }))
}

/** Returns the bound within which a share of all searches ended. */
export function quantile(times: readonly Bucket[], share: number): string {
  const wanted = times.reduce((sum, each) => sum + each.count, 0) * share
  let seen = 0
  for (const { upTo, count } of times) {
    seen += count
    if (seen >= wanted) return upTo
  }
  return '+Inf'
}

/** Returns a bound as people read it, such as "≤ 50 ms". */
export function boundText(upTo: string): string {
  if (upTo === '+Inf') return '>\u00a02\u00a0s'
  return Number(upTo) < 1 ? `≤\u00a0${Number(upTo) * 1000}\u00a0ms` : `≤\u00a0${Number(upTo)}\u00a0s`
}
