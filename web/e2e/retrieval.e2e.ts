import { expect, test } from 'vitest'
import { expectAccessible, newDocument, newProject, openPage, rich, settled, withBrowser } from './harness'

withBrowser()

test('retrieval shows passages with scores, tokens and redactions, and the context by layers', async () => {
  const project = await newProject('Retrieval')
  await newDocument(
    project,
    'The lighthouse',
    rich('The keeper of the lighthouse answers at keeper@example.com every night.'),
  )
  await newDocument(project, '灯塔日记', rich('守塔人林远在雾里听见了钟声，他住在灯塔里。'))
  await settled(project)
  const page = await openPage()
  await page.goto(`/projects/${project}/retrieval`)
  await page.getByLabel('Text or question').fill('Who keeps the lighthouse?')
  await page.getByRole('button', { name: 'Retrieve' }).click()
  await page.getByRole('link', { name: 'The lighthouse' }).waitFor()
  expect(await page.locator('main').textContent()).not.toContain('keeper@example.com')
  await page.locator('mark').first().waitFor()
  await page.getByText('Redacted').waitFor()
  await page.getByText(/^[\d,]+ of [\d,]+ tokens$/).waitFor()
  await expectAccessible(page)
  await page.getByRole('radio', { name: 'Context' }).check()
  await page.getByLabel('Rules').fill('Answer briefly. 简短回答。')
  await page.getByRole('button', { name: 'Retrieve' }).click()
  await page.getByRole('region', { name: 'Rules' }).getByText('Answer briefly. 简短回答。').waitFor()
  await page.getByRole('region', { name: 'Retrieved' }).waitFor()
  await expectAccessible(page)
})

test('retrieval works in Chinese', async () => {
  const project = await newProject('检索')
  await newDocument(project, '灯塔日记', rich('守塔人林远在雾里听见了钟声，他住在灯塔里。'))
  await settled(project)
  const page = await openPage({ language: 'zh' })
  await page.goto(`/projects/${project}/retrieval`)
  await page.getByLabel('文本或问题').fill('林远听见了什么')
  await page.getByRole('button', { name: '检索' }).click()
  await page.getByText('守塔人林远').waitFor()
})
