/**
 * Measures the client in a real Chromium and writes docs/bench/web.md: `make bench-web`.
 * It is a benchmark and not a test: it asserts nothing about time.
 */
import { writeFile } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { test } from 'vitest'
import { newDocument, newProject, openPage, rich, settled, withBrowser } from './harness'

withBrowser()

const percentile = (values: readonly number[], share: number) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0

test('speed in the browser', async () => {
  const project = await newProject('Speed')
  const paragraph = '林远走进港口，雾从海上来。 The keeper climbed the tower and counted the steps aloud. '
  const lines = Array.from({ length: 280 }, (_, index) => `${index} ${paragraph.repeat(5)}`)
  const id = await newDocument(project, 'Long', rich(...lines))
  await settled(project)
  const characters = lines.join('').length
  const page = await openPage()

  const loads: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const fresh = await openPage()
    const began = performance.now()
    await fresh.goto(`/projects/${project}/documents`)
    await fresh.getByRole('link', { name: 'Long' }).waitFor()
    loads.push(performance.now() - began)
    await fresh.context().close()
  }

  await page.goto(`/projects/${project}/documents/${id}`)
  await page.getByLabel('Text of Long').waitFor()
  await page.waitForTimeout(2500) // the palette is fetched in the background
  const palette: number[] = []
  for (let round = 0; round < 10; round += 1) {
    palette.push(
      await page.evaluate(
        () =>
          new Promise<number>((resolve) => {
            const began = performance.now()
            const watch = () => {
              if (document.querySelector('dialog[open] input'))
                requestAnimationFrame(() => resolve(performance.now() - began))
              else requestAnimationFrame(watch)
            }
            window.dispatchEvent(new KeyboardEvent('keydown', { key: 'p', ctrlKey: true, bubbles: true }))
            watch()
          }),
      ),
    )
    await page.keyboard.press('Escape')
    await page.locator('dialog[open]').waitFor({ state: 'detached' })
  }

  await page.keyboard.press('Control+Shift+F')
  await page.getByRole('searchbox').fill('keeper tower')
  await page.getByRole('region', { name: 'Long' }).waitFor()
  await page.evaluate(() => {
    const frames: number[] = []
    Object.assign(window, { frames })
    window.addEventListener(
      'keydown',
      (event) => {
        if (event.key.length === 1) {
          const at = performance.now()
          setTimeout(() => frames.push(performance.now() - at)) // after all work of this key
        }
      },
      true,
    )
  })
  await page.getByLabel('Text of Long').getByText('120 林远').click()
  for (let round = 0; round < 300; round += 1) {
    await page.keyboard.type('abcde '[round % 6] ?? 'a', { delay: 30 }) // autosave and the index run meanwhile
    if (round % 100 === 50) {
      // A search runs while one types.
      await page.evaluate(() => window.dispatchEvent(new Event('findspot:focus-panel')))
      await page.keyboard.type('x')
      await page
        .getByLabel('Text of Long')
        .getByText(/^120 林远/)
        .click()
    }
  }
  const typed = await page.evaluate(() => (window as unknown as { frames: number[] }).frames)
  const row = (name: string, values: readonly number[], wanted: string) =>
    `| ${name} | ${percentile(values, 0.5).toFixed(1)} ms | ${percentile(values, 0.95).toFixed(1)} ms | ${Math.max(...values).toFixed(1)} ms | ${wanted} |`
  const report = `# The web client in Chromium

Measured by \`make bench-web\` (${cpus().length} cores, headless Chromium, server on the same machine; load average ${loadavg()[0]?.toFixed(1)} at the end).

| what | p50 | p95 | worst | aim |
|---|---|---|---|---|
${row('first load, until the list of documents is shown', loads, '< 1 s')}
${row('the palette opens, until its frame', palette, '< 100 ms')}
${row(`a key in a document of ${characters.toLocaleString('en')} characters, with search open and autosave running`, typed, '< 16 ms')}

A key is measured from its event until all work that it caused has run.
`
  await writeFile(new URL('../../docs/bench/web.md', import.meta.url), report)
  console.log(report)
}, 240_000)
