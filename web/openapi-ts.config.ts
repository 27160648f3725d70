import { defineConfig } from '@hey-api/openapi-ts'

export default defineConfig({
  input: process.env.FINDSPOT_OPENAPI ?? '../.venv/openapi.json',
  output: { path: process.env.FINDSPOT_CLIENT ?? 'src/api/generated', clean: true },
  plugins: [
    '@hey-api/client-fetch',
    '@hey-api/typescript',
    { name: '@hey-api/sdk', validator: { response: true } },
    'zod',
    '@tanstack/react-query',
  ],
})
