import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import {
  expectAccessible,
  expectFault,
  newDocument,
  newProject,
  openPage,
  rich,
  server,
  token,
  withBrowser,
} from './harness'

withBrowser()

const textOf = async (id: number) => (await server.get<{ text: string }>(`/documents/${id}`)).text
const listed = async (project: number) =>
  (await server.get<{ documents: { id: number; title: string }[] }>(`/projects/${project}/documents`)).documents

async function writeAtEnd(page: Page, title: string, text: string): Promise<void> {
  await page.getByLabel(title).click()
  await page.keyboard.press('Control+End')
  await page.keyboard.insertText(text)
}

describe('text that cannot be saved', () => {
  test('in a document that was deleted elsewhere is saved as a new document', async () => {
    expectFault(/404/)
    const project = await newProject('Deleted elsewhere')
    const id = await newDocument(project, 'Notes 笔记', 'Start.')
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Text of Notes').waitFor()
    await server.delete(`/documents/${id}`)
    await writeAtEnd(page, 'Text of Notes', ' 还在 Still here')
    await page.getByText('This document was deleted elsewhere').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Save as a new document' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    const [copy] = await listed(project)
    expect(copy?.title).toBe('Notes 笔记')
    expect(page.url()).toContain(`/documents/${copy?.id}`)
    expect(await textOf(copy?.id ?? 0)).toBe('Start. 还在 Still here')
  })

  test('is not left without a question', async () => {
    expectFault(/Failed to load resource/)
    const project = await newProject('Leaving')
    const id = await newDocument(project, 'Notes', rich('Start.'))
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Text of Notes').waitFor()
    await page.route('**/api/v1/documents/*', (route) => route.abort())
    await writeAtEnd(page, 'Text of Notes', ' 更多 More')
    await page.getByRole('link', { name: 'Documents' }).click()
    await page.getByRole('heading', { name: 'Not saved yet' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await page.getByLabel('Text of Notes').textContent()).toBe('Start. 更多 More')
    await page.getByRole('link', { name: 'Documents' }).click()
    await page.getByRole('button', { name: 'Leave without saving' }).click()
    await page.getByRole('link', { name: 'Notes' }).waitFor()
    await page.unroute('**/api/v1/documents/*')
    await page.getByRole('link', { name: 'Notes' }).click()
    await writeAtEnd(page, 'Text of Notes', ' 新的 New')
    await page.getByText('Saved', { exact: true }).waitFor()
    await expect.poll(() => textOf(id)).toBe('Start. 新的 New')
  })

  test('is saved before another page opens', async () => {
    const project = await newProject('Leaving in time')
    const id = await newDocument(project, 'Notes', 'Start.')
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await writeAtEnd(page, 'Text of Notes', ' 最后 Last')
    await page.getByRole('link', { name: 'Documents' }).click()
    await page.getByRole('row', { name: /Notes/ }).waitFor()
    expect(await textOf(id)).toBe('Start. 最后 Last')
  })

  test('shows a conflict that is found on leaving', async () => {
    expectFault(/409/)
    const project = await newProject('Conflict on leaving')
    const id = await newDocument(project, 'Shared', 'Start.')
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Text of Shared').waitFor()
    await server.put(`/documents/${id}`, { content: 'Theirs 别人的', format: 'text' })
    await writeAtEnd(page, 'Text of Shared', ' 我的 Mine')
    await page.getByRole('link', { name: 'Documents' }).click()
    await page.getByRole('heading', { name: 'This document was changed elsewhere' }).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(1)
    await page.getByRole('button', { name: 'Keep mine' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(await textOf(id)).toBe('Start. 我的 Mine')
  })

  test('a conflict whose other text does not load can be tried again', async () => {
    expectFault(/409|ERR_FAILED/)
    const project = await newProject('Conflict without an answer')
    const id = await newDocument(project, 'Shared', 'Start.')
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Text of Shared').waitFor()
    await server.put(`/documents/${id}`, { content: 'Theirs 别人的', format: 'text' })
    const reads = (url: URL) => url.pathname.endsWith(`/documents/${id}`)
    await page.route(reads, (route) => (route.request().method() === 'GET' ? route.abort() : route.continue()))
    await writeAtEnd(page, 'Text of Shared', ' Mine')
    await page.getByRole('dialog').getByText('The server does not answer').waitFor()
    expect(await page.getByRole('button', { name: 'Take the other' }).isDisabled()).toBe(true)
    await page.unroute(reads)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Theirs 别人的').waitFor()
  })

  test('in a conflict with a document that is deleted before its text loads is saved as a new document', async () => {
    expectFault(/409|404/)
    const project = await newProject('Deleted in a conflict')
    const id = await newDocument(project, 'Shared', 'Start.')
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Text of Shared').waitFor()
    await server.put(`/documents/${id}`, { content: 'Theirs 别人的', format: 'text' })
    let deleted = false
    const path = (url: URL) => url.pathname.endsWith(`/documents/${id}`)
    await page.route(path, async (route) => {
      if (route.request().method() === 'GET' && !deleted) {
        deleted = true
        await server.delete(`/documents/${id}`)
      }
      await route.continue()
    })
    await writeAtEnd(page, 'Text of Shared', ' 我的 Mine')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('This document was deleted elsewhere').waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Save as a new document' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    const [copy] = await listed(project)
    expect(page.url()).toContain(`/documents/${copy?.id}`)
    expect(await textOf(copy?.id ?? 0)).toBe('Start. 我的 Mine')
  })

  test('in a conflict is not lost when the document is deleted before the other text is taken', async () => {
    expectFault(/409|404/)
    const project = await newProject('冲突中删除')
    const id = await newDocument(project, 'Shared', 'Start.')
    const page = await openPage({ language: 'zh' })
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Shared 的正文').waitFor()
    await server.put(`/documents/${id}`, { content: 'Theirs 别人的', format: 'text' })
    await writeAtEnd(page, 'Shared 的正文', ' 我的 Mine')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Theirs 别人的').waitFor()
    await server.delete(`/documents/${id}`)
    await dialog.getByRole('button', { name: '采用另一份' }).click()
    await dialog.getByRole('button', { name: '另存为新文档' }).click()
    await page.getByText('已保存', { exact: true }).waitFor()
    const [copy] = await listed(project)
    expect(await textOf(copy?.id ?? 0)).toBe('Start. 我的 Mine')
  })

  test('is saved after signing in again in another tab', async () => {
    expectFault(/401/)
    const project = await newProject('会话 Session')
    const id = await newDocument(project, 'Notes', 'Start.')
    const page = await openPage({ language: 'zh' })
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Notes 的正文').waitFor()
    await page.context().clearCookies()
    await writeAtEnd(page, 'Notes 的正文', ' 还在 Still here')
    await page.getByText('您已退出登录').waitFor()
    await page.context().request.get(`/?token=${token}`, { maxRedirects: 0 })
    await page.getByText('已保存', { exact: true }).waitFor()
    expect(await textOf(id)).toBe('Start. 还在 Still here')
  })

  test('is saved before the session ends', async () => {
    expectFault(/401/)
    const project = await newProject('Signing out')
    const id = await newDocument(project, 'Notes', 'Start.')
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await writeAtEnd(page, 'Text of Notes', ' 最后 Last')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await textOf(id)).toBe('Start. 最后 Last')
  })

  test('a title has no more characters than the server accepts', async () => {
    const project = await newProject('Long title')
    const id = await newDocument(project, 'Short', 'Start.')
    const page = await openPage()
    await page.goto(`/projects/${project}/documents/${id}`)
    await page.getByLabel('Title of the document').press('End')
    await page.keyboard.insertText('长'.repeat(300))
    await page.getByText('Editing…').waitFor()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect((await listed(project))[0]?.title).toHaveLength(200)
  })
})

test('a value that was typed for a node is kept until it is saved, also when the table changes elsewhere', async () => {
  expectFault(/412/)
  const project = await newProject('Typed values')
  const data = { one: 'first', two: 'second' }
  const { id } = await server.post<{ id: number }>(`/projects/${project}/tables`, { name: 'Words', data })
  const page = await openPage()
  await page.goto(`/projects/${project}/tables/${id}`)
  const value = page.getByLabel('Value (JSON)')
  await page.getByRole('treeitem', { name: /one/ }).click()
  await value.fill('"第一 typed"')
  await page.getByRole('treeitem', { name: /two/ }).click()
  await expect.poll(() => value.inputValue()).toBe('"second"')
  await page.getByRole('treeitem', { name: /one.*Not saved/ }).click()
  await expect.poll(() => value.inputValue()).toBe('"第一 typed"')
  await server.put(`/tables/${id}/data?json_pointer=/one`, 'elsewhere')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The table was changed elsewhere').waitFor()
  expect(await value.inputValue()).toBe('"第一 typed"')
  await page.getByRole('link', { name: 'Documents' }).click()
  await page.getByRole('heading', { name: 'Not saved yet' }).waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The value was saved.').waitFor()
  await page.getByRole('treeitem', { name: /one.*Not saved/ }).waitFor({ state: 'detached' })
  expect(await value.inputValue()).toBe('"第一 typed"')
  expect((await server.get<{ data: unknown }>(`/tables/${id}`)).data).toEqual({ one: '第一 typed', two: 'second' })
})
