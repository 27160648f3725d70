import { expect, test } from 'vitest'
import { en } from './en'
import { firstLanguage, translate } from './language'
import { zh } from './zh'

const placeholders = (text: string) => [...text.matchAll(/\{(\w+)/g)].map((found) => found[1]).sort()

test('every text has the same values in both languages', () => {
  for (const key of Object.keys(en) as (keyof typeof en)[]) {
    const wanted = new Set(placeholders(en[key]))
    for (const name of placeholders(zh[key])) expect(wanted, key).toContain(name)
  }
})

test('no Chinese text is left in English', () => {
  const same = (Object.keys(en) as (keyof typeof en)[]).filter((key) => en[key] === zh[key])
  expect(same.filter((key) => /[a-z]{4,} [a-z]{2,}/i.test(en[key]))).toEqual([])
})

test('a number chooses its word', () => {
  expect(translate('en', 'search.count', { count: 1, documents: 1 })).toBe('1 match in 1 document')
  expect(translate('en', 'search.count', { count: 1200, documents: 3 })).toBe('1,200 matches in 3 documents')
})

test('the language is the stored one, then the first known one of the browser', () => {
  expect(firstLanguage('zh', ['en'])).toBe('zh')
  expect(firstLanguage(null, ['fr-FR', 'zh-TW', 'en'])).toBe('zh')
  expect(firstLanguage(null, ['fr-FR'])).toBe('en')
})
