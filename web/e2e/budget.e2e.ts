import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { newDocument, newProject, openPage, rich, withBrowser } from './harness'

withBrowser()

test('everything but the editor loads less than 300 kB of JavaScript, compressed', async () => {
  const project = await newProject('Budget')
  const id = await newDocument(project, 'Text', rich('Words.'))
  const page = await openPage()
  const scripts = new Set<string>()
  page.on('request', (request) => {
    if (request.url().endsWith('.js')) scripts.add(request.url())
  })
  const loaded = async () => {
    // Each is fetched again: the browser may drop the body of an answer as soon as the page is left.
    const answers = await Promise.all([...scripts].map((url) => page.request.get(url)))
    const bodies = await Promise.all(answers.map((answer) => answer.body()))
    return bodies.reduce((sum, body) => sum + gzipSync(body).length, 0)
  }
  await page.goto('/', { waitUntil: 'networkidle' })
  for (const place of ['documents', 'tables', 'tools', 'endpoints', 'retrieval', 'status']) {
    await page.goto(`/projects/${project}/${place}`, { waitUntil: 'networkidle' })
    await page.getByRole('heading', { level: 1 }).waitFor()
  }
  await page.keyboard.press('Control+P')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('Control+Shift+H')
  await page.getByLabel('Find', { exact: true }).waitFor()
  const withoutEditor = await loaded()
  expect(withoutEditor).toBeGreaterThan(50_000)
  expect(withoutEditor).toBeLessThan(300_000)
  await page.goto(`/projects/${project}/documents/${id}`)
  await page.getByLabel('Text of Text').waitFor()
  expect(await loaded()).toBeGreaterThan(withoutEditor)
})
