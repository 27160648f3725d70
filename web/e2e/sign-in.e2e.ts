import { describe, expect, test } from 'vitest'
import {
  expectAccessible,
  expectFault,
  newDocument,
  newProject,
  openPage,
  origin,
  server,
  token,
  withBrowser,
} from './harness'

withBrowser()

describe('signing in', () => {
  test('the link signs the browser in, and the token leaves the address and the history', async () => {
    expectFault(/404/) // the icon of a page that has none
    const page = await openPage({ signedIn: false })
    await page.goto('/healthz')
    await page.goto(`/?token=${token}`)
    await page.getByRole('heading', { name: 'Projects', exact: true }).waitFor()
    expect(page.url()).toBe(`${origin}/`)
    await page.goBack()
    expect(page.url()).toBe(`${origin}/healthz`)
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
    expect(cookie?.value).not.toContain(token)
  })

  test('a stranger is told how to get in, and signs in with a key', async () => {
    expectFault(/401/)
    const project = await newProject('With keys')
    const { key } = await server.post<{ key: string }>(`/projects/${project}/keys`, { name: 'reader', role: 'read' })
    await newDocument(project, 'Only to read', 'Words.')
    const page = await openPage({ signedIn: false })
    await page.goto('/')
    await page.getByText('findspot serve').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Key').fill('fsk_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('This key is not valid.').waitFor()
    await page.getByLabel('Key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: /With keys/ }).click()
    await page.getByRole('link', { name: 'Only to read' }).click()
    await page.getByLabel('Text of Only to read').waitFor()
    expect(await page.getByLabel('Text of Only to read').getAttribute('contenteditable')).toBe('false')
    await page.getByRole('link', { name: 'Documents' }).click()
    expect(await page.getByRole('button', { name: 'New document' }).count()).toBe(0)
    expect(await page.getByRole('button', { name: /Delete/ }).count()).toBe(0)
  })

  test('signing out ends the session', async () => {
    expectFault(/401/)
    const project = await newProject('To leave')
    const page = await openPage()
    await page.goto(`/projects/${project}/documents`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  test('with scripts disabled the page says what is wrong', async () => {
    const page = await openPage({ signedIn: false, scripts: false })
    await page.goto('/')
    expect(await page.locator('noscript').textContent()).toContain('needs JavaScript')
  })

  test('a server that does not answer is not taken for a wrong key', async () => {
    expectFault(/401|Failed to load resource/)
    const page = await openPage({ signedIn: false, language: 'zh' })
    await page.goto('/')
    await page.getByLabel('密钥').fill(token)
    await page.route('**/api/**', (route) => route.abort())
    await page.getByRole('button', { name: '登录' }).click()
    await page.getByText('服务器没有响应').waitFor()
    await page.unroute('**/api/**')
    await page.getByRole('button', { name: '登录' }).click()
    await page.getByRole('heading', { name: '项目', exact: true }).waitFor()
    await page.getByRole('button', { name: '退出登录' }).click()
    await page.getByRole('heading', { name: '登录' }).waitFor()
  })

  test('an unknown project leads back to the projects', async () => {
    expectFault(/404/)
    const page = await openPage()
    await page.goto('/projects/999999/documents')
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
    await page.getByRole('link', { name: 'All projects' }).click()
    await page.getByRole('heading', { name: 'Projects', exact: true }).waitFor()
  })

  test('with the API down the page says so and recovers', async () => {
    expectFault(/Failed to load resource/)
    const page = await openPage()
    await page.route('**/api/**', (route) => route.abort())
    await page.goto('/')
    await page.getByText('The server does not answer').waitFor()
    await page.unroute('**/api/**')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Projects', exact: true }).waitFor()
  })
})
