import { afterEach, expect, test, vi } from 'vitest'
import { api, failureOf, setApiLanguage } from '.'

const answer = (status: number, body: unknown) =>
  vi.stubGlobal('fetch', async (request: Request) => {
    sent.push(request)
    return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } })
  })
let sent: Request[] = []

afterEach(() => {
  sent = []
  vi.unstubAllGlobals()
})

const ask = () => api.getProject({ path: { project_id: 1 }, baseUrl: 'http://localhost', throwOnError: true })
const failure = () =>
  ask().then(
    () => null,
    (error: unknown) => failureOf(error),
  )

test('an answer of another shape than the API describes is refused', async () => {
  answer(200, { id: 'one', name: 'Library' })
  expect((await failure())?.message).toContain('unexpected shape')
  answer(200, { id: 1, name: 'Library', created_at: '2026-11-17T12:00:00Z' })
  expect((await ask()).data.name).toBe('Library')
})

test('an error of the API keeps its code, its fields and its notice', async () => {
  answer(429, { code: 'SEARCH_BACKPRESSURE', message: 'busy', retryAfterMs: 200, notice: '请稍候' })
  const error = await failure()
  expect([error?.code, error?.status, error?.retryAfterMs, error?.notice]).toEqual([
    'SEARCH_BACKPRESSURE',
    429,
    200,
    '请稍候',
  ])
})

test('a server that does not answer is named as such', async () => {
  vi.stubGlobal('fetch', async () => {
    throw new TypeError('Failed to fetch')
  })
  expect((await failure())?.code).toBe('OFFLINE')
})

test('requests ask for notices in the language of the interface', async () => {
  setApiLanguage('zh')
  answer(200, { id: 1, name: 'Library', created_at: '2026-11-17T12:00:00Z' })
  await ask()
  expect(sent[0]?.headers.get('Accept-Language')).toBe('zh')
})
