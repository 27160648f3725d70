import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    origin: string
    token: string
  }
}

const TOKEN = 'fsk_the-owner-in-the-browser-tests'
const FINDSPOT = process.env.FINDSPOT ?? new URL('../../.venv/bin/findspot', import.meta.url).pathname

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.on('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      const port = typeof address === 'object' && address ? address.port : 0
      probe.close(() => resolve(port))
    })
  })
}

async function answers(origin: string, ended: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    if (ended()) throw new Error('findspot serve has ended; see its output above')
    const ready = await fetch(`${origin}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    )
    if (ready) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  throw new Error('findspot serve does not answer')
}

/** Starts one real server with an empty data folder for all browser tests. */
export default async function start(project: TestProject) {
  const data = await mkdtemp(join(tmpdir(), 'findspot-e2e-'))
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const child = spawn(FINDSPOT, ['serve', '--port', String(port), '--data', data], {
    env: { ...process.env, FINDSPOT_TOKEN: TOKEN },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.split('\n')) if (line && !line.includes('"level": "info"')) console.error(line)
  })
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await answers(origin, () => child.exitCode !== null)
  project.provide('origin', origin)
  project.provide('token', TOKEN)
  return async () => {
    child.kill('SIGTERM')
    await gone
    await rm(data, { recursive: true, force: true })
  }
}
