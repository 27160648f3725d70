import { mkdir } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  expectAccessible,
  expectFault,
  type Look,
  newDocument,
  newProject,
  openPage,
  rich,
  server,
  settled,
  withBrowser,
} from './harness'

withBrowser()

const FOLDER = new URL('../../docs/screens/', import.meta.url).pathname
const WRITE = process.env.SCREENS === 'write' // `make screens` renews the pictures in docs/

let project: number
let lighthouse: number
let table: number
let tool: number

const STORY = [
  'The lighthouse stood on the last rock before the open sea. Every evening the keeper climbed the two hundred and eleven steps with a can of oil in each hand, and every evening he counted them aloud.',
  'Nobody in the village could say how long he had been there. The old women said he had come with the lamp; the fishermen said the lamp had come with him.',
  'On the night of the great fog the bell rang without a hand on the rope. The keeper put down his brass telescope and listened.',
  '“That is no wind,” he said.',
  'In the morning they found the door open, the oil untouched, and a line in the log in a hand that no one knew: the light has been seen from the other side.',
]
const DIARY = [
  '守塔人林远在雾里听见了钟声。那不是风，他想，风不会数到七。',
  '灯塔建在最后一块礁石上，潮水退去的时候，可以看见旧船的龙骨。他每天晚上提着油灯走上二百一十一级台阶。',
  '黎明之前，海面上出现了另一束光。',
]

beforeAll(async () => {
  if (WRITE) await mkdir(FOLDER, { recursive: true })
  project = await newProject('The lighthouse 灯塔')
  lighthouse = await newDocument(project, 'The lighthouse', rich(...STORY))
  await server.put(`/documents/${lighthouse}`, {
    content: rich(...STORY, 'The keeper was never seen again.'),
    format: 'tiptap',
  })
  await newDocument(project, '灯塔日记', rich(...DIARY))
  await newDocument(
    project,
    'Field notes',
    '# Field notes\n\nThe **keeper** owns a brass telescope.\n\n- oil\n- rope\n',
    'markdown',
  )
  await newDocument(project, 'Letters', 'Dear keeper,\n\nwrite to me at anna@example.com when the fog lifts.\n')
  const chapters = Array.from({ length: 40 }, (_, index) => ({
    title: `Chapter ${index + 1}`,
    body: `${STORY[index % STORY.length]} ${DIARY[index % DIARY.length]}`,
  }))
  const data = { title: 'The lighthouse', 书名: '灯塔', chapters, year: 1911, published: true }
  table = (await server.post<{ id: number }>(`/projects/${project}/tables`, { name: 'Novel', data })).id
  const body = {
    project_id: project,
    table_id: table,
    name: 'search_chapters',
    json_pointer: '/chapters',
    search_config: { chunk_threshold: 1 },
  }
  tool = (await server.post<{ tool_id: number }>('/tools/search', body)).tool_id
  await server.post('/mcp', { project_id: project, name: 'Writing assistant', tool_ids: [tool] })
  await settled(project)
})

interface Shown {
  readonly name: string
  readonly show: (page: Page) => Promise<void>
}

const to = (path: string) => (page: Page) => page.goto(`/projects/${project}${path}`)

const SCREENS: readonly Shown[] = [
  {
    name: 'projects',
    show: async (page) => {
      await page.goto('/')
      await page
        .getByRole('link', { name: /The lighthouse/ })
        .first()
        .waitFor()
    },
  },
  {
    name: 'documents',
    show: async (page) => {
      await to('/documents')(page)
      await page.getByRole('link', { name: '灯塔日记' }).waitFor()
    },
  },
  {
    name: 'editor',
    show: async (page) => {
      await to(`/documents/${lighthouse}`)(page)
      await page.getByText('The lighthouse stood').waitFor()
      await page.getByRole('button', { name: /Version history|版本历史/ }).click()
      await page
        .getByRole('region', { name: /Version history|版本历史/ })
        .getByRole('button')
        .nth(1)
        .waitFor()
    },
  },
  {
    name: 'search',
    show: async (page) => {
      await to(`/documents/${lighthouse}`)(page)
      await page.getByText('The lighthouse stood').waitFor()
      await page.keyboard.press('Control+Shift+F')
      await page.getByRole('searchbox').fill('keeper telescope 灯塔')
      await page
        .getByRole('button', { name: /^(Why|原因)/ })
        .first()
        .click()
      await page.getByText(/Matched:|匹配：/).waitFor()
    },
  },
  {
    name: 'palette',
    show: async (page) => {
      await to('/documents')(page)
      await page.getByRole('link', { name: '灯塔日记' }).waitFor()
      await page.keyboard.press('Control+P')
      await page.getByRole('combobox').fill('light')
      await page.getByRole('option').nth(2).waitFor()
    },
  },
  {
    name: 'replace',
    show: async (page) => {
      await to(`/documents/${lighthouse}`)(page)
      await page.getByText('The lighthouse stood').waitFor()
      await page.keyboard.press('Control+Shift+H')
      await page.getByLabel(/^(Find|查找)$/).fill('keeper')
      await page.getByLabel(/^(Replace with|替换为)$/).fill('warden')
      await page.locator('ins').nth(3).waitFor()
      await page.locator('.marking-match').first().waitFor()
    },
  },
  {
    name: 'tables',
    show: async (page) => {
      await to(`/tables/${table}`)(page)
      await page.getByRole('treeitem', { name: /chapters/ }).click()
      await page.getByRole('treeitem', { name: /^0/ }).click()
      await page.getByRole('treeitem', { name: /body/ }).first().click()
      await page.getByLabel(/JSON/).waitFor()
    },
  },
  {
    name: 'playground',
    show: async (page) => {
      await to(`/tools/${tool}`)(page)
      await page.getByLabel('query', { exact: true }).fill('守塔人 fog')
      await page.getByRole('button', { name: /^(Run|运行)$/ }).click()
      await page.locator('mark').first().waitFor()
    },
  },
  {
    name: 'endpoints',
    show: async (page) => {
      await to('/endpoints')(page)
      await page.getByText('Writing assistant').waitFor()
      await page.getByText(/Configuration for MCP clients|MCP 客户端配置/).click()
    },
  },
  {
    name: 'retrieval',
    show: async (page) => {
      await to('/retrieval')(page)
      await page.getByLabel(/Text or question|文本或问题/).fill('Who may write to the keeper?')
      await page.getByRole('button', { name: /^(Retrieve|检索)$/ }).click()
      await page.getByRole('link', { name: 'Letters' }).waitFor()
    },
  },
  {
    name: 'status',
    show: async (page) => {
      await to('/status')(page)
      await page.getByText(/Everything is searchable|全部可搜索/).waitFor()
    },
  },
]

const NARROW = new Set(['search-light', 'tables-dark', 'status-light'])

const LOOKS: readonly (Look & { readonly suffix: string })[] = [
  { suffix: 'light', theme: 'light', language: 'en' },
  { suffix: 'dark', theme: 'dark', language: 'zh' },
]

describe.each(LOOKS)('every screen in $suffix', ({ suffix, ...look }) => {
  test.each(SCREENS)(
    '$name has no serious accessibility violation and fits into 360 pixels',
    async ({ name, show }) => {
      const page = await openPage({ ...look, reducedMotion: true })
      await show(page)
      await expectAccessible(page)
      if (WRITE) await page.screenshot({ path: `${FOLDER}${name}-${suffix}.png` })
      await page.setViewportSize({ width: 360, height: 740 })
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
      if (WRITE && NARROW.has(`${name}-${suffix}`)) await page.screenshot({ path: `${FOLDER}${name}-narrow.png` })
    },
  )

  test('the way in has none either', async () => {
    expectFault(/401/)
    const page = await openPage({ ...look, signedIn: false })
    await page.goto('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await expectAccessible(page)
    if (WRITE) await page.screenshot({ path: `${FOLDER}sign-in-${suffix}.png` })
  })
})
