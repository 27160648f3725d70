import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest'
import { TOKEN as token } from './server'

export const origin = inject('origin')
export { token }

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

export interface Look {
  readonly language?: 'en' | 'zh'
  readonly theme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  readonly reducedMotion?: boolean
  readonly signedIn?: boolean
  readonly scripts?: boolean
  readonly at?: string
}

let browser: Browser
let contexts: BrowserContext[] = []
let faults: string[] = []
let expected: RegExp[] = []

/** Lets the tests of a file open pages in a real Chromium, and checks after each test that no page had a fault. */
export function withBrowser(): void {
  beforeAll(async () => {
    browser = await chromium.connect(inject('browser'))
  })
  afterEach(async () => {
    const pages = contexts.flatMap((context) => context.pages())
    await Promise.all(pages.map((page) => page.unrouteAll({ behavior: 'ignoreErrors' }))) // requests still on their way
    await Promise.all(contexts.map((context) => context.close()))
    contexts = []
    const unexpected = faults.filter((fault) => !expected.some((pattern) => pattern.test(fault)))
    faults = []
    expected = []
    expect(unexpected, 'errors in the console, or requests to other hosts').toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
  })
}

/** Lets a test cause errors that browsers write to the console, such as a failed request. */
export function expectFault(pattern: RegExp): void {
  expected.push(pattern)
}

/** Opens an empty page, signed in as the owner. */
export async function openPage(look: Look = {}): Promise<Page> {
  const { language = 'en', theme = 'light', width = 1280, height = 800, at = origin } = look
  const { reducedMotion = false, signedIn = true, scripts = true } = look
  const context = await browser.newContext({
    baseURL: at,
    javaScriptEnabled: scripts,
    locale: language === 'zh' ? 'zh-CN' : 'en-US',
    colorScheme: theme,
    reducedMotion: reducedMotion ? 'reduce' : 'no-preference',
    viewport: { width, height },
  })
  contexts.push(context)
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('request', (request) => {
    const { host, protocol } = new URL(request.url())
    if (protocol.startsWith('http') && host !== new URL(at).host) faults.push(`request to ${host}`)
  })
  if (signedIn) await context.request.get(`/?token=${token}`, { maxRedirects: 0 })
  return page
}

/** Fails if axe finds a serious violation on the page. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(await readFile(AXE, 'utf8')) // the debugger may; the page's own policy forbids added scripts
  const found = await page.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: axe adds itself to the window
    const result = await (window as any).axe.run(document, { resultTypes: ['violations'] })
    return result.violations
      .filter((each: { impact: string }) => each.impact === 'serious' || each.impact === 'critical')
      .map((each: { id: string; nodes: { html: string; failureSummary: string }[] }) => ({
        id: each.id,
        nodes: each.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 200)}`),
      }))
  })
  expect(found).toEqual([])
}

async function call<Answer>(at: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await fetch(`${at}/api/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (answer.status === 204 ? undefined : await answer.json()) as Answer
}

export const serverAt = (at: string) => ({
  get: <Answer>(path: string) => call<Answer>(at, 'GET', path),
  post: <Answer>(path: string, body: unknown) => call<Answer>(at, 'POST', path, body),
  put: <Answer>(path: string, body: unknown) => call<Answer>(at, 'PUT', path, body),
  delete: (path: string) => call<void>(at, 'DELETE', path),
})

export const server = serverAt(origin)

interface Stored {
  readonly id: number
}

export async function newProject(name: string, on = server): Promise<number> {
  return (await on.post<Stored>('/projects', { name })).id
}

export async function newDocument(
  projectId: number,
  title: string,
  content: unknown,
  format: 'tiptap' | 'markdown' | 'text' = typeof content === 'string' ? 'text' : 'tiptap',
  on = server,
): Promise<number> {
  return (await on.post<Stored>(`/projects/${projectId}/documents`, { title, format, content })).id
}

/** Waits until everything in a project is searchable: the stream of events ends then. */
export async function settled(projectId: number): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const answer = await fetch(`${origin}/api/v1/projects/${projectId}/status/events`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    if ((await answer.text()).trimEnd().split('\n').at(-1)?.includes('"index_state":"ready"')) return
  }
  throw new Error('the index is not ready')
}

/** A rich text with one paragraph for each line. */
export function rich(...lines: string[]) {
  return {
    type: 'doc',
    content: lines.map((text) => ({ type: 'paragraph', content: [{ type: 'text', text }] })),
  }
}
