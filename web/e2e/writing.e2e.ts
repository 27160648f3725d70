import { describe, expect, test } from 'vitest'
import { expectAccessible, expectFault, newDocument, newProject, openPage, rich, server, withBrowser } from './harness'

withBrowser()

interface Stored {
  readonly title: string
  readonly text: string
  readonly revision: number
}
const stored = (id: number) => server.get<Stored>(`/documents/${id}`)

describe('writing', () => {
  test('a document is created, written, saved by itself, and listed with its words', async () => {
    const project = await newProject('Novel')
    const page = await openPage()
    await page.goto(`/projects/${project}`)
    await page.getByRole('button', { name: 'New document' }).click()
    await page.getByLabel('Title').fill('第一章 The harbour')
    await page.getByRole('button', { name: 'Create' }).click()
    const text = page.getByLabel('Text of 第一章 The harbour')
    await text.waitFor()
    await expect.poll(() => text.evaluate((each) => each === document.activeElement)).toBe(true)
    await page.keyboard.insertText('林远走进港口。 Fog everywhere 😀')
    await page.getByText('Saved', { exact: true }).waitFor()
    const id = Number(page.url().split('/').at(-1))
    expect((await stored(id)).text).toBe('林远走进港口。 Fog everywhere 😀')
    await page.getByRole('link', { name: 'Documents' }).click()
    await page.getByRole('row', { name: /第一章 The harbour/ }).waitFor()
    await expectAccessible(page)
  })

  test('a document is renamed in place', async () => {
    const project = await newProject('Names')
    const id = await newDocument(project, 'Old', rich('Words.'))
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Title of the document').fill('New 名字')
    await page.getByText('Editing…').waitFor()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect((await stored(id)).title).toBe('New 名字')
  })

  test('a deleted document comes back with undo, and is gone without', async () => {
    const project = await newProject('Bin')
    await newDocument(project, 'Keep me', 'One.')
    const page = await openPage()
    await page.clock.install()
    await page.goto(`/projects/${project}/documents`)
    await page.getByRole('button', { name: 'Delete Keep me' }).click()
    await page.getByText('No documents yet').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('link', { name: 'Keep me' }).waitFor()
    await page.getByRole('button', { name: 'Delete Keep me' }).click()
    const gone = page.waitForResponse((answer) => answer.request().method() === 'DELETE')
    await page.getByText('was deleted').waitFor()
    await page.clock.runFor(60_000)
    expect((await gone).status()).toBe(204)
    expect((await server.get<{ documents: unknown[] }>(`/projects/${project}/documents`)).documents).toEqual([])
  })

  test('a deleted document stays out of the list on a return to it, and undo still brings it back', async () => {
    const project = await newProject('Bin left')
    await newDocument(project, '旧稿 Old draft', 'One.')
    const page = await openPage()
    await page.goto(`/projects/${project}/documents`)
    await page.getByRole('button', { name: 'Delete 旧稿 Old draft' }).click()
    const undo = page.getByRole('button', { name: 'Undo' })
    await undo.hover() // it waits while somebody points at it
    await page.getByRole('link', { name: 'Tables' }).press('Enter')
    await page.getByText('No tables yet').waitFor()
    await page.getByRole('link', { name: 'Documents' }).press('Enter')
    await page.getByText('No documents yet').waitFor()
    await undo.click()
    await page.getByRole('link', { name: '旧稿 Old draft' }).waitFor()
  })

  test.each([
    ['markdown', '# 标题\n\nSome *words*\n\n- one\n'],
    ['text', 'first\n\n\n最后 😀\n'],
  ] as const)('a %s document is edited as its source', async (format, content) => {
    const project = await newProject(`Plain ${format}`)
    const id = await newDocument(project, 'Source', content, format)
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Text of Source').click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.insertText('前言 ')
    await page.getByText('Editing…').waitFor()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect((await server.get<{ content: string }>(`/documents/${id}`)).content).toBe(`前言 ${content}`)
  })

  test('a conflict shows both texts side by side, and keeps the one that the writer chooses', async () => {
    expectFault(/409/)
    const project = await newProject('Two writers')
    const id = await newDocument(project, 'Shared', rich('Beginning.'))
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Text of Shared').waitFor()
    await server.put(`/documents/${id}`, { content: rich('From elsewhere 别处'), format: 'tiptap' })
    await page.getByLabel('Text of Shared').click()
    await page.keyboard.press('Control+End')
    await page.keyboard.insertText(' Mine 我的')
    await page.getByRole('heading', { name: 'This document was changed elsewhere' }).waitFor()
    await page.getByText('From elsewhere 别处').waitFor()
    expect(await page.getByRole('region', { name: 'Your text' }).textContent()).toContain('Beginning. Mine 我的')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Keep mine' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect((await stored(id)).text).toBe('Beginning. Mine 我的')
  })

  test('a conflict can be resolved in favour of the other text', async () => {
    expectFault(/409/)
    const project = await newProject('两位作者')
    const id = await newDocument(project, 'Shared', rich('Beginning.'))
    const page = await openPage({ language: 'zh' })
    await page.goto(`/projects/${project}/documents/${id}`)
    const text = page.getByLabel('Shared 的正文')
    await text.waitFor()
    await server.put(`/documents/${id}`, { content: rich('From elsewhere 别处'), format: 'tiptap' })
    await text.click()
    await page.keyboard.insertText('Mine 我的 ')
    await page.getByRole('heading', { name: '此文档已在别处修改' }).waitFor()
    await page.getByRole('button', { name: '采用另一份' }).click()
    await text.getByText('From elsewhere 别处').waitFor()
    expect(await text.textContent()).toBe('From elsewhere 别处')
    expect((await stored(id)).text).toBe('From elsewhere 别处')
    await text.click()
    await page.keyboard.press('Control+End')
    await page.keyboard.insertText('！')
    await page.getByText('编辑中…').waitFor()
    await page.getByText('已保存', { exact: true }).waitFor()
    expect((await stored(id)).text).toBe('From elsewhere 别处！')
  })

  test('the history shows a difference by word and restores a version', async () => {
    const project = await newProject('History')
    const id = await newDocument(project, 'Draft', rich('The lamp was red.'))
    await server.put(`/documents/${id}`, { content: rich('The lamp was green.'), format: 'tiptap' })
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByRole('button', { name: 'Version history' }).click()
    await page.getByRole('button', { name: /Saved.*owner/s }).click()
    await page.getByRole('heading', { name: 'Changes since this version' }).waitFor()
    expect(await page.locator('dialog del').textContent()).toContain('red')
    expect(await page.locator('dialog ins').textContent()).toContain('green')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Restore this version' }).click()
    await page.getByLabel('Text of Draft').getByText('The lamp was red.').waitFor()
    expect((await stored(id)).text).toBe('The lamp was red.')
  })

  test('the text scrolls with the caret', async () => {
    const project = await newProject('Scrolling')
    const id = await newDocument(
      project,
      'Long',
      rich(...Array.from({ length: 60 }, (_, at) => `Line ${at} 第${at}行`)),
    )
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Text of Long').getByText('Line 3 第3行').click()
    for (let line = 0; line < 40; line += 1) await page.keyboard.press('Enter')
    await page.keyboard.insertText('Here 这里')
    const inView = async (text: string) => {
      const { y = -1, height = 0 } = (await page.getByText(text).boundingBox()) ?? {}
      return y > 40 && y + height < 800
    }
    expect(await inView('Here 这里')).toBe(true)
    for (let line = 0; line < 44; line += 1) await page.keyboard.press('ArrowUp')
    await page.keyboard.insertText('上 Top ')
    expect(await inView('上 Top')).toBe(true)
  })

  test('what cannot be saved is kept and saved later', async () => {
    expectFault(/Failed to load resource/)
    const project = await newProject('Offline')
    const id = await newDocument(project, 'Notes', rich('Start.'))
    const page = await openPage()
    await page.clock.install()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Text of Notes').click()
    await page.route('**/api/**', (route) => route.abort())
    await page.keyboard.press('Control+End')
    await page.keyboard.insertText(' More')
    await page.getByText('Not saved; trying again').waitFor()
    await page.unroute('**/api/**')
    await page.clock.runFor(10_000)
    await page.getByText('Saved', { exact: true }).waitFor()
    expect((await stored(id)).text).toBe('Start. More')
  })

  test('a long list draws its rows in portions, and its filter sees all titles', async () => {
    const project = await newProject('Many documents')
    for (let at = 0; at < 130; at += 1) await newDocument(project, `Note ${at} 笔记`, 'Words.')
    const page = await openPage()
    await page.goto(`/projects/${project}/documents`)
    const rows = page.locator('tbody tr')
    await rows.first().waitFor()
    expect(await rows.count()).toBe(100)
    await rows.last().scrollIntoViewIfNeeded()
    await expect.poll(() => rows.count()).toBe(130)
    await page.getByLabel('Filter by title').fill('note 0 ')
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByLabel('Filter by title').fill('nothing like this')
    await page.getByText('No matching title').waitFor()
  })

  test('a deletion by keyboard can be taken back by keyboard, however long that takes', async () => {
    const project = await newProject('Keyboard')
    await newDocument(project, 'Keep me', 'One.')
    const page = await openPage()
    await page.clock.install()
    await page.goto(`/projects/${project}/documents`)
    await page.getByRole('button', { name: 'Delete Keep me' }).press('Enter')
    await page.getByText('was deleted').waitFor()
    await page.clock.runFor(60_000)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Keep me' }).waitFor()
  })

  test('a document with unknown parts is shown and never changed', async () => {
    const project = await newProject('Unknown')
    const content = { type: 'doc', content: [{ type: 'mystery', content: [{ type: 'text', text: 'Still readable' }] }] }
    const id = await newDocument(project, 'Foreign', content)
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByText('Still readable').waitFor()
    await page.getByText('cannot be edited here').waitFor()
    expect((await stored(id)).revision).toBe(1)
  })
})
