import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  expectAccessible,
  expectFault,
  newDocument,
  newProject,
  openPage,
  rich,
  server,
  settled,
  withBrowser,
} from './harness'

withBrowser()

let project: number
let lighthouse: number
const CHANNEL = '**/search/query/strategy'

beforeAll(async () => {
  project = await newProject('Search')
  const filler = Array.from({ length: 60 }, (_, index) => `Paragraph ${index} about gardens and rain, nothing else.`)
  lighthouse = await newDocument(
    project,
    'The lighthouse',
    rich('The 😀 keeper climbed the tower.', ...filler, 'At midnight the brass telescope fell into the sea.'),
  )
  await newDocument(project, '灯塔日记', rich('守塔人林远在雾里听见了钟声。', '他把灯点亮，等待黎明。'))
  await newDocument(project, 'Notes', '# Notes\n\nA **telescope** needs a stand.\n', 'markdown')
  await settled(project)
})

async function openSearch(page: Page): Promise<void> {
  await page.goto(`/projects/${project}/documents`)
  await page.getByRole('heading', { name: /Documents|文档/ }).waitFor()
  await page.keyboard.press('Control+Shift+F')
}

const field = (page: Page) => page.getByRole('searchbox')

describe('the search panel', () => {
  // scenario: 004.fts.opens-at-match 004.fts.click-jumps
  test('finds a passage and opens the document at the match, scrolled into view', async () => {
    const page = await openPage()
    await openSearch(page)
    await field(page).fill('brass telescope')
    const result = page.getByRole('link', { name: /brass telescope/ })
    await result.waitFor()
    await page.getByRole('region', { name: 'The lighthouse' }).waitFor()
    await expectAccessible(page)
    await result.click()
    const mark = page.locator('.marking-flash').first()
    await mark.waitFor()
    expect(await mark.textContent()).toMatch(/^brass/)
    expect(page.url()).toContain(`/documents/${lighthouse}?start=`)
    const box = await mark.boundingBox()
    expect(box && box.y > 0 && box.y < 800).toBe(true)
  })

  // scenario: 004.fts.result-row
  test('finds Chinese words and marks exactly them', async () => {
    const page = await openPage({ language: 'zh' })
    await openSearch(page)
    await field(page).fill('林远')
    const region = page.getByRole('region', { name: '灯塔日记' })
    await region.getByRole('link').first().waitFor()
    expect(await region.locator('mark').first().textContent()).toBe('林远')
    expect(await region.locator('h3 svg').count()).toBe(1)
    await region.getByRole('link').first().click()
    await page.locator('.marking-flash', { hasText: '林远' }).waitFor()
  })

  test('finds words that were typed a moment ago at their exact place', async () => {
    const id = await newDocument(project, 'Fresh', rich('Some words.', 'The end.'))
    const page = await openPage({ reducedMotion: true })
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Text of Fresh').click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.insertText('新的开头 😀 and a sextant before it. ')
    await page.getByText('Editing…').waitFor()
    await page.getByText('Saved', { exact: true }).waitFor()
    await settled(project)
    await page.keyboard.press('Control+Shift+F')
    await field(page).fill('sextant')
    await page.getByRole('region', { name: 'Fresh' }).getByRole('link').click()
    const mark = page.locator('.marking-flash').first()
    await mark.waitFor()
    expect(await mark.textContent()).toBe('sextant')
    const animation = await mark.evaluate((element) => Number.parseFloat(getComputedStyle(element).animationDuration))
    expect(animation).toBeLessThan(0.001) // no flash under reduced motion
  })

  test('opens a Markdown document at the match in its source', async () => {
    const page = await openPage()
    await openSearch(page)
    await field(page).fill('telescope stand')
    await page.getByRole('region', { name: 'Notes' }).getByRole('link').click()
    await page.locator('.marking-flash').first().waitFor()
  })

  test('sends nothing while an input method composes', async () => {
    const page = await openPage({ language: 'zh' })
    await page.clock.install()
    await openSearch(page)
    let requests = 0
    page.on('request', (request) => {
      if (request.url().includes('/search/query/strategy')) requests += 1
    })
    await field(page).focus()
    const devtools = await page.context().newCDPSession(page)
    for (const text of ['l', 'li', 'lin', 'lin y', '林远']) {
      await devtools.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length })
      await page.clock.runFor(5000) // much longer than the pause after which a text is searched for
    }
    expect(requests).toBe(0)
    await devtools.send('Input.insertText', { text: '林远' })
    await page.getByRole('region', { name: '灯塔日记' }).waitFor()
    expect(requests).toBe(1)
    expect(await field(page).inputValue()).toBe('林远')
  })

  test('keeps earlier results until newer ones arrive, and drops late answers', async () => {
    const page = await openPage()
    await openSearch(page)
    await field(page).fill('keeper')
    await page.getByRole('region', { name: 'The lighthouse' }).waitFor()
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(CHANNEL, async (route) => {
      if (route.request().postDataJSON().query === 'telescope') await held
      await route.continue().catch(() => undefined) // the page may have given the request up
    })
    const givenUp = page.waitForEvent('requestfailed', (request) => request.postData()?.includes('telescope') === true)
    await field(page).fill('telescope')
    await page.locator('[aria-busy="true"]').waitFor()
    expect(await page.getByRole('region', { name: 'The lighthouse' }).count()).toBe(1)
    await field(page).fill('林远')
    await page.getByRole('region', { name: '灯塔日记' }).waitFor()
    await givenUp // its answer can no longer arrive
    release()
    expect(await page.getByRole('region', { name: 'Notes' }).count()).toBe(0)
    await page.getByRole('region', { name: '灯塔日记' }).waitFor()
  })

  test('explains a result with parts that add up to its score', async () => {
    const page = await openPage()
    await openSearch(page)
    await field(page).fill('brass telescope')
    await page.getByRole('button', { name: /^Why/ }).first().click()
    const values = page.locator('dl dd')
    await page.getByText('Matched:').waitFor()
    const numbers = (await values.allTextContents()).map((text) => Number.parseFloat(text))
    const [bm25 = 0, semantic = 0, recency = 0, score = 0] = numbers
    expect(bm25 + semantic + recency).toBeCloseTo(score, 2)
    await expectAccessible(page)
  })

  // scenario: 004.fts.no-results
  test('says that nothing was found, with advice', async () => {
    const page = await openPage()
    await openSearch(page)
    await field(page).fill('zzqqxxyy')
    await page.getByText('Nothing found for “zzqqxxyy”').waitFor()
    await page.getByText('Try fewer or other words').waitFor()
    await expectAccessible(page)
  })

  // scenario: 004.fts.search-panel
  test('filters by document and searches by keyword or meaning', async () => {
    const page = await openPage()
    await openSearch(page)
    await field(page).fill('telescope')
    await page.getByRole('region', { name: 'Notes' }).waitFor()
    await page.getByRole('button', { name: 'Filters' }).click()
    const document = page.getByRole('combobox', { name: 'Document' })
    await document.fill('light')
    await page.getByRole('option', { name: 'The lighthouse' }).waitFor()
    await expectAccessible(page)
    await document.press('Enter')
    await page.getByRole('region', { name: 'Notes' }).waitFor({ state: 'detached' })
    await page.getByRole('radio', { name: 'Meaning' }).check()
    await page.getByRole('region', { name: 'The lighthouse' }).waitFor()
  })

  test('keeps a history in this browser', async () => {
    const page = await openPage()
    await openSearch(page)
    await field(page).fill('keeper')
    await field(page).press('Enter')
    await page.getByRole('region', { name: 'The lighthouse' }).waitFor()
    await field(page).fill('')
    await page.getByRole('button', { name: 'keeper', exact: true }).click()
    await page.getByRole('region', { name: 'The lighthouse' }).waitFor()
  })

  test('closes with Escape and gives the focus back', async () => {
    const page = await openPage()
    await page.goto(`/projects/${project}/documents`)
    await page.getByRole('link', { name: 'Notes' }).focus()
    await page.keyboard.press('Control+Shift+F')
    await field(page).waitFor()
    await page.keyboard.press('Escape')
    await field(page).waitFor({ state: 'detached' })
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('Notes')
  })
})

describe('when the search cannot do everything', () => {
  const answer = (status: number, body: object) => ({
    status,
    contentType: 'application/json',
    body: JSON.stringify(body),
  })

  test('a time-out offers another attempt, which works', async () => {
    expectFault(/504/)
    const page = await openPage()
    let calls = 0
    await page.route(CHANNEL, async (route) => {
      calls += 1
      if (calls === 1) await route.fulfill(answer(504, { code: 'SEARCH_TIMEOUT', message: 'too slow' }))
      else await route.continue()
    })
    await openSearch(page)
    await field(page).fill('telescope')
    await page.getByText('The search took too long').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('region', { name: 'Notes' }).waitFor()
  })

  test('back-pressure is retried without a click', async () => {
    expectFault(/429/)
    const page = await openPage()
    let calls = 0
    await page.route(CHANNEL, async (route) => {
      calls += 1
      const busy = { code: 'SEARCH_BACKPRESSURE', message: 'busy', retryAfterMs: 200 }
      if (calls <= 3) await route.fulfill(answer(429, busy))
      else await route.continue()
    })
    await openSearch(page)
    await field(page).fill('telescope')
    await page.getByText('Many searches are running').waitFor()
    await page.getByRole('region', { name: 'Notes' }).waitFor()
    expect(calls).toBe(4)
  })

  test('a rebuild is announced with its progress while searching goes on', async () => {
    const page = await openPage()
    await page.route(CHANNEL, async (route) => {
      const response = await route.fetch()
      const state = { indexState: 'rebuilding', indexedDocuments: 1, totalDocuments: 3 }
      await route.fulfill({ response, json: { ...(await response.json()), ...state } })
    })
    await openSearch(page)
    await field(page).fill('telescope')
    await page.getByText('The index is being rebuilt: 1 of 3 documents').waitFor()
    await page.getByRole('region', { name: 'Notes' }).waitFor()
  })

  test('the palette and the replace panel name a server that is gone, and recover', async () => {
    expectFault(/Failed to load resource/)
    const page = await openPage({ language: 'zh' })
    await page.goto(`/projects/${project}/documents`)
    await page.getByRole('link', { name: 'Notes' }).waitFor()
    await page.keyboard.press('Control+P')
    await page.getByRole('combobox').waitFor()
    await page.route('**/api/**', (route) => route.abort())
    await page.getByRole('combobox').fill('zzqqxx')
    await page.getByRole('dialog').getByText('服务器没有响应').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+Shift+H')
    await page.getByLabel('查找', { exact: true }).fill('telescope')
    await page.getByRole('heading', { name: '服务器没有响应' }).waitFor()
    await page.unroute('**/api/**')
    await page.getByRole('button', { name: '重试' }).click()
    await page.getByText('2 篇文档，2 处匹配').waitFor()
  })

  test('a server that is gone is named as such', async () => {
    expectFault(/Failed to load resource/)
    const page = await openPage()
    await openSearch(page)
    await page.route(CHANNEL, (route) => route.abort())
    await field(page).fill('telescope')
    await page.getByText('The server does not answer').waitFor()
  })
})

test('more results are loaded when their end comes into view', async () => {
  const many = await newProject('Many')
  const lines = Array.from(
    { length: 130 },
    (_, index) => `Harbour number ${index}: ${'boats '.repeat(120)}${index * 7919}.`,
  )
  await newDocument(many, 'Boats', lines.join('\n\n'))
  await settled(many)
  const page = await openPage()
  await page.goto(`/projects/${many}/documents`)
  await page.getByRole('link', { name: 'Boats' }).waitFor()
  await page.keyboard.press('Control+Shift+F')
  await field(page).fill('harbour')
  const links = page.getByRole('region', { name: 'Boats' }).getByRole('link')
  await links.first().waitFor()
  const first = await links.count()
  await links.last().scrollIntoViewIfNeeded()
  await expect.poll(() => links.count()).toBeGreaterThan(first)
  const addresses = await links.evaluateAll((all) => all.map((each) => each.getAttribute('href')))
  expect(new Set(addresses).size).toBe(addresses.length)
})

test('results stay when their next page has expired, and the search starts anew on request', async () => {
  expectFault(/422/)
  const many = await newProject('Expired')
  const lines = Array.from(
    { length: 130 },
    (_, at) => `Beacon 灯标 number ${at}: ${'flames '.repeat(120)}${at * 7919}.`,
  )
  await newDocument(many, 'Beacons', lines.join('\n\n'))
  await settled(many)
  const page = await openPage()
  const outdated = (url: URL) => url.pathname.endsWith('/search/query/strategy')
  await page.route(outdated, async (route) => {
    const body = route.request().postDataJSON()
    await route.continue(body.cursor ? { postData: JSON.stringify({ ...body, cursor: 'expired' }) } : {})
  })
  await page.goto(`/projects/${many}/documents`)
  await page.getByRole('link', { name: 'Beacons' }).waitFor()
  await page.keyboard.press('Control+Shift+F')
  await field(page).fill('beacon 灯标')
  const links = page.getByRole('region', { name: 'Beacons' }).getByRole('link')
  await links.first().waitFor()
  const first = await links.count()
  await links.last().scrollIntoViewIfNeeded()
  await page.getByText('This search is too old to go on').waitFor()
  expect(await links.count()).toBe(first)
  await expectAccessible(page)
  await page.unroute(outdated)
  await page.getByRole('button', { name: 'Search again' }).click()
  await expect.poll(() => links.count()).toBeGreaterThan(first)
})

// scenario: 004.fts.command-palette
test('the palette opens a document by title, one by its text, and runs commands, by keyboard alone', async () => {
  const page = await openPage()
  await page.goto(`/projects/${project}/documents`)
  await page.getByRole('link', { name: 'Notes' }).waitFor()
  await page.keyboard.press('Control+P')
  await page.getByRole('combobox').waitFor()
  await expectAccessible(page)
  await page.keyboard.insertText('灯塔')
  await page
    .getByRole('option', { name: /灯塔日记/ })
    .first()
    .waitFor()
  await page.keyboard.press('Enter')
  await page.getByLabel('Text of 灯塔日记').waitFor()
  await page.keyboard.press('Control+K')
  await page.keyboard.insertText('brass telescope')
  await page
    .getByRole('option', { name: /brass telescope/ })
    .first()
    .waitFor()
  await page.keyboard.press('Enter')
  await page.locator('.marking-flash').first().waitFor()
  await page.keyboard.press('Control+P')
  await page.getByRole('option', { name: '灯塔日记' }).waitFor() // recent documents
  await page.keyboard.insertText('status')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Status' }).waitFor()
  await server.get(`/projects/${project}/status`)
})
