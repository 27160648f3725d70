import { beforeAll, describe, expect, test } from 'vitest'
import {
  expectAccessible,
  expectFault,
  newDocument,
  newProject,
  openPage,
  server,
  settled,
  withBrowser,
} from './harness'

withBrowser()

let project: number
let table: number

beforeAll(async () => {
  project = await newProject('Builder')
  const chapters = Array.from({ length: 500 }, (_, index) => ({
    title: `Chapter ${index}`,
    body: `第${index}章 The ${index === 7 ? 'astrolabe' : 'compass'} lay on the table. `.repeat(20),
  }))
  const data = { chapters, 'a/b': { '~': [1, true, null] }, big: '9'.repeat(5) }
  table = (await server.post<{ id: number }>(`/projects/${project}/tables`, { name: 'Atlas', data })).id
})

describe('tables', () => {
  test('are a tree whose members are fetched when opened, by keyboard too', async () => {
    const page = await openPage()
    await page.goto(`/projects/${project}/tables`)
    await expectAccessible(page)
    await page.getByRole('link', { name: /Atlas/ }).click()
    const tree = page.getByRole('tree', { name: 'Nodes of Atlas' })
    await tree.getByRole('treeitem', { name: /chapters/ }).waitFor()
    await expectAccessible(page)
    await tree.focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowRight')
    await tree.getByRole('treeitem', { name: /^~/ }).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.getByText('/a~1b/~0', { exact: true }).waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await tree.getByRole('treeitem', { name: /^~/ }).waitFor({ state: 'detached' })
    await tree.getByRole('treeitem', { name: /chapters/ }).click()
    await tree.getByRole('treeitem', { name: /^0/ }).waitFor()
    const drawn = await tree.getByRole('treeitem').count()
    expect(drawn).toBeLessThan(80)
    await page.keyboard.press('End')
    await tree.getByRole('treeitem', { name: /big/ }).waitFor()
  })

  test('a value is edited with validation, and large numbers keep their digits', async () => {
    const page = await openPage()
    await page.goto(`/projects/${project}/tables/${table}`)
    await page.getByRole('treeitem', { name: /big/ }).click()
    const value = page.getByLabel('Value (JSON)')
    await value.fill('{"n": }')
    await page.getByText(/Not valid JSON/).waitFor()
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await value.fill('{"n": 12345678901234567890}')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The value was saved.').waitFor()
    await page.getByRole('treeitem', { name: /big.*object/ }).waitFor()
    await page.reload()
    await page.getByRole('treeitem', { name: /big/ }).click()
    await expect.poll(() => page.getByLabel('Value (JSON)').inputValue()).toBe('{"n": 12345678901234567890}')
  })

  test.each([
    ['a text', '守塔人 keeper', '"守塔人 keeper"'],
    ['an empty list', [], '[]'],
  ])('%s as the whole table is shown and edited', async (name, data, shown) => {
    const made = await server.post<{ id: number }>(`/projects/${project}/tables`, { name, data })
    const page = await openPage()
    await page.goto(`/projects/${project}/tables/${made.id}`)
    await page.getByRole('treeitem', { name: 'Whole table' }).click()
    const value = page.getByLabel('Value (JSON)')
    await expect.poll(() => value.inputValue()).toBe(shown)
    await value.fill('{"灯塔": 1}')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('treeitem', { name: /灯塔/ }).waitFor()
    await expectAccessible(page)
  })

  test('a very long text shows its beginning and its size', async () => {
    const data = { long: '风雨 storm '.repeat(40_000), '': 'empty key' }
    const made = await server.post<{ id: number }>(`/projects/${project}/tables`, { name: 'Long text', data })
    const page = await openPage({ language: 'zh' })
    await page.goto(`/projects/${project}/tables/${made.id}`)
    await page.getByRole('treeitem', { name: /^long/ }).click()
    await page.getByText('太长而无法在此完整显示').waitFor()
    await page.getByRole('region', { name: '值（JSON）' }).getByText('风雨 storm 风雨').waitFor()
    await page.getByRole('treeitem', { name: '"" empty key' }).waitFor()
  })

  test('a table is created from a JSON text', async () => {
    const page = await openPage({ language: 'zh' })
    await page.goto(`/projects/${project}/tables`)
    await page.getByRole('button', { name: '新建表' }).click()
    await page.getByLabel('名称').fill('词典')
    await page.getByLabel('JSON', { exact: true }).fill('{"灯塔": "lighthouse"}')
    await page.getByRole('button', { name: '创建' }).click()
    await page.getByRole('treeitem', { name: /灯塔/ }).waitFor()
  })
})

describe('deleting', () => {
  test('a table is deleted with its tools, after the page said so', async () => {
    const place = await newProject('Tables to delete')
    const made = await server.post<{ id: number }>(`/projects/${place}/tables`, {
      name: '词典 Words',
      data: { a: 'b' },
    })
    for (const name of ['read_words', 'query_words']) {
      const type = name === 'read_words' ? 'get_all_data' : 'query_data'
      await server.post('/tools', { project_id: place, table_id: made.id, type, name })
    }
    const page = await openPage()
    await page.goto(`/projects/${place}/tables`)
    await page.getByRole('button', { name: 'Delete 词典 Words' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('This deletes the table, its index and 2 tools.').waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('link', { name: /词典 Words/ }).waitFor()
    await page.getByRole('button', { name: 'Delete 词典 Words' }).click()
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No tables yet').waitFor()
    await page.getByRole('link', { name: 'Tools' }).click()
    await page.getByText('No tools yet').waitFor()
  })

  test('a project is deleted with everything in it, after its name was typed', async () => {
    expectFault(/404/)
    const place = await newProject('旧项目 Old')
    const document = await newDocument(place, 'Draft', 'Words.')
    await server.post(`/projects/${place}/tables`, { name: 'Facts', data: {} })
    const page = await openPage({ language: 'zh' })
    await page.goto('/')
    await page.getByRole('button', { name: '删除 旧项目 Old' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('将删除 1 篇文档、1 个表和 0 个工具').waitFor()
    await expectAccessible(page)
    const remove = dialog.getByRole('button', { name: '删除', exact: true })
    expect(await remove.isDisabled()).toBe(true)
    await dialog.getByLabel('输入“旧项目 Old”以确认').fill('旧项目 Old')
    await remove.click()
    await page.getByRole('button', { name: '删除 旧项目 Old' }).waitFor({ state: 'detached' })
    await page.goto(`/projects/${place}/documents/${document}`)
    await page.getByRole('heading', { name: '未找到' }).waitFor()
  })
})

describe('tools', () => {
  test('a search tool is created from a node, indexed with visible progress, and tried', async () => {
    const page = await openPage()
    await page.goto(`/projects/${project}/tables/${table}`)
    await page.getByRole('treeitem', { name: /chapters/ }).click()
    await page.getByRole('button', { name: 'Create a search tool here' }).click()
    expect(await page.getByLabel('JSON pointer').inputValue()).toBe('/chapters')
    await expectAccessible(page)
    await page.getByLabel('Name', { exact: true }).fill('search_chapters')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'search_chapters' }).waitFor()
    await page.getByText(/nodes in .* chunks are searchable/).waitFor({ timeout: 40_000 })
    await page.getByLabel('query', { exact: true }).fill('astrolabe')
    await page.getByRole('button', { name: 'Run' }).click()
    const hits = page.getByRole('region', { name: 'In the text' })
    await hits.getByText('/chapters/7/body').waitFor()
    await hits.locator('mark', { hasText: 'astrolabe' }).first().waitFor()
    await page.getByText('"total_results"').waitFor()
    await expectAccessible(page)
    await page.goto(`/projects/${project}/tables/${table}`)
    await page.getByRole('treeitem', { name: /chapters/ }).click()
    await page.getByRole('treeitem', { name: /^0/ }).click()
    await page.getByRole('treeitem', { name: /body.*indexed/ }).waitFor()
  })

  test('the arguments of a tool stay where they are when the facts about its index arrive', async () => {
    const place = await newProject('Still form')
    const { id } = await server.post<{ id: number }>(`/projects/${place}/tables`, { name: '词典', data: { a: '灯塔' } })
    const made = { project_id: place, table_id: id, type: 'search', name: 'search_words' }
    const tool = await server.post<{ id: number }>('/tools', made)
    await settled(place)
    const page = await openPage()
    let release = () => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/search-index', async (route) => {
      await released
      await route.continue()
    })
    await page.goto(`/projects/${place}/tools/${tool.id}`)
    const top = async () => (await page.getByLabel('query', { exact: true }).boundingBox())?.y
    await page.getByLabel('query', { exact: true }).waitFor()
    const before = await top()
    release()
    await page.getByText(/are searchable/).waitFor()
    expect(await top()).toBe(before)
  })

  test('an endpoint shows its key once, with the configuration of each client', async () => {
    const page = await openPage()
    await page.goto(`/projects/${project}/endpoints`)
    await page.getByRole('button', { name: 'New endpoint' }).click()
    await page.getByLabel('Name', { exact: true }).fill('For agents')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('This key is shown once').waitFor()
    await page.locator('dialog').getByRole('radio', { name: 'Codex' }).check()
    await page.locator('dialog').getByText('[mcp_servers.findspot]').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Close' }).click()
    const card = page.getByRole('region', { name: 'For agents' })
    await card.getByRole('checkbox', { name: /search_chapters/ }).uncheck()
    const { endpoints } = await server.get<{ endpoints: { id: number }[] }>(`/projects/${project}/mcp`)
    const bound = async () => (await server.get<{ tools: unknown[] }>(`/mcp/${endpoints[0]?.id}`)).tools.length
    await expect.poll(bound).toBe(0)
    await expectAccessible(page)
  })

  test('the status shows sizes, indexes and search times, and a rebuild', async () => {
    await settled(project)
    const page = await openPage()
    await page.goto(`/projects/${project}/status`)
    await page.getByText('Everything is searchable').waitFor()
    await page.getByText('How long searches took').waitFor()
    await page.getByLabel('Name of the new key').fill('reader')
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByText(/fsk_.{20}/).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Revoke reader' }).click()
    await page.getByRole('dialog').getByText('loses access at once').waitFor()
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText('No keys yet.').waitFor()
    await page.getByRole('button', { name: 'Rebuild the index' }).click()
    await page.getByText('Searching goes on').waitFor()
    expectFault(/Failed to load resource/)
    await page.route('**/api/**', (route) => route.abort())
    await page.getByText('These figures are not current').waitFor()
    await page.unroute('**/api/**')
    await page.getByText('These figures are not current').waitFor({ state: 'detached' })
  })
})
