import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

// scenario: 004.acceptance.typescript-strict
test('the compiler is strict', () => {
  const { compilerOptions } = JSON.parse(readFileSync(new URL('../tsconfig.json', import.meta.url), 'utf8'))
  expect(compilerOptions).toMatchObject({ strict: true, noUncheckedIndexedAccess: true, noImplicitOverride: true })
})
