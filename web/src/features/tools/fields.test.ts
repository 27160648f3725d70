import { expect, test } from 'vitest'
import { argumentsOf, fieldsOf } from './fields'

const SCHEMA = {
  type: 'object',
  required: ['query'],
  properties: {
    query: { type: 'string', description: 'Words' },
    top_k: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    keys: { type: 'array', items: { type: 'string' } },
    exact: { type: 'boolean' },
  },
}

test('every argument has a field of its kind', () => {
  expect(fieldsOf(SCHEMA).map((field) => [field.name, field.kind, field.required])).toEqual([
    ['query', 'text', true],
    ['top_k', 'number', false],
    ['keys', 'json', false],
    ['exact', 'boolean', false],
  ])
  expect(fieldsOf({})).toEqual([])
})

test('typed texts become arguments, and empty optional ones are left out', () => {
  const fields = fieldsOf(SCHEMA)
  expect(argumentsOf(fields, { query: '林远 "x"', top_k: '3', keys: '["a"]' })).toEqual({
    values: { query: '林远 "x"', top_k: 3, keys: ['a'] },
  })
  expect(argumentsOf(fields, { query: '', exact: 'true' })).toEqual({ values: { query: '', exact: true } })
  expect(argumentsOf(fields, { query: 'q', keys: '[a' })).toEqual({ wrong: 'keys' })
})
