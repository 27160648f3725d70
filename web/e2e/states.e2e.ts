import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import {
  expectAccessible,
  expectFault,
  newDocument,
  newProject,
  openPage,
  rich,
  serverAt,
  settled,
  withBrowser,
} from './harness'
import { type Running, serve } from './server'

withBrowser()

// scenario: 004.fts.damaged-index
test('a damaged index is explained, rebuilt by the server, and searched again', async () => {
  expectFault(/503/)
  const project = await newProject('Damaged')
  await newDocument(project, 'Notes', rich('A telescope needs a stand.', '望远镜需要支架。'))
  await settled(project)
  const page = await openPage()
  await page.route(
    '**/search/query/strategy',
    async (route) => {
      await rm(`${inject('data')}/index/project_${project}`, { recursive: true, force: true, maxRetries: 5 })
      await new Promise((resolve) => setTimeout(resolve, 1100)) // the server looks for its files once a second
      await route.continue()
    },
    { times: 1 },
  )
  await page.goto(`/projects/${project}/documents`)
  await page.getByRole('link', { name: 'Notes' }).waitFor()
  await page.keyboard.press('Control+Shift+F')
  await page.getByRole('searchbox').fill('望远镜')
  await page.getByRole('heading', { name: 'The index is being rebuilt' }).waitFor()
  await expectAccessible(page)
  const result = page.getByRole('region', { name: 'Notes' }).getByRole('link')
  const retried = async () => {
    const again = page.getByRole('button', { name: 'Try again' })
    if (await again.isVisible()) await again.click()
    return result.count()
  }
  await expect.poll(retried).toBe(1)
})

describe('with an embedder that refuses', () => {
  const embedder = createServer((_, answer) => {
    answer.writeHead(401, { 'Content-Type': 'application/json' })
    answer.end('{"error": {"message": "Incorrect API key provided"}}')
  })
  let other: Running
  let project: number

  beforeAll(async () => {
    await new Promise<void>((resolve) => embedder.listen(0, '127.0.0.1', resolve))
    const { port } = embedder.address() as AddressInfo
    other = await serve({
      FINDSPOT_EMBEDDER: 'openai/any-model',
      FINDSPOT_EMBEDDER_BASE_URL: `http://127.0.0.1:${port}/v1`,
      FINDSPOT_EMBEDDER_API_KEY: 'sk-wrong',
    })
    const there = serverAt(other.origin)
    project = await newProject('Degraded', there)
    await newDocument(project, 'Notes', rich('A telescope needs a stand.', '望远镜需要支架。'), 'tiptap', there)
    const byKeyword = () =>
      there.post<{ total: number }>(`/projects/${project}/search/query/strategy`, { query: '支架', strategy: 'fts' })
    await vi.waitFor(async () => expect((await byKeyword()).total).toBe(1), { timeout: 60_000 })
  })
  afterAll(async () => {
    await other?.stop()
    embedder.close()
  })

  test.each([
    ['en', 'telescope', 'Keywords only.'],
    ['zh', '望远镜', '仅关键词。'],
  ] as const)('keywords still find a document, and the reason is shown (%s)', async (language, query, notice) => {
    const page = await openPage({ at: other.origin, language })
    await page.goto(`/projects/${project}/documents`)
    await page.getByRole('link', { name: 'Notes' }).waitFor()
    await page.keyboard.press('Control+Shift+F')
    await page.getByRole('searchbox').fill(query)
    await page.getByRole('region', { name: 'Notes' }).getByRole('link').waitFor()
    await page.getByText(notice).waitFor()
    await expectAccessible(page)
  })
})
