import { expect, test } from 'vitest'
import type { DocumentSummary } from '../../api'
import { choices } from './Palette'

const document = (id: number, title: string) => ({ id, title }) as DocumentSummary
const ALL = [document(1, '灯塔日记'), document(2, 'The Lighthouse'), document(3, 'Notes on light')]
const COMMANDS = [{ id: 'status', label: 'Project status', icon: 'status' as const, run: () => undefined }]

test('without a text the recent documents come first, and all commands are offered', () => {
  const { titles, offered } = choices('', ALL, [3, 99, 1], COMMANDS)
  expect(titles.map((each) => each.id)).toEqual([3, 1])
  expect(offered).toHaveLength(1)
})

test('every word must be in the title, in any case and language', () => {
  expect(choices('light the', ALL, [], COMMANDS).titles.map((each) => each.id)).toEqual([2])
  expect(choices('日记', ALL, [], COMMANDS).titles.map((each) => each.id)).toEqual([1])
  expect(choices('status', ALL, [], COMMANDS).offered).toHaveLength(1)
  expect(choices('日记', ALL, [], COMMANDS).offered).toHaveLength(0)
})
