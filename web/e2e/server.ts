import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    origin: string
    data: string
    browser: string
  }
}

export const TOKEN = 'fsk_the-owner-in-the-browser-tests'
const FINDSPOT = process.env.FINDSPOT ?? new URL('../../.venv/bin/findspot', import.meta.url).pathname
const CHROMIUM =
  process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

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
  for (let attempt = 0; attempt < 600; attempt += 1) {
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

export interface Running {
  readonly origin: string
  readonly data: string
  readonly stop: () => Promise<void>
}

/** Starts a real server with an empty data folder, and waits until it is ready. */
export async function serve(settings: Readonly<Record<string, string>> = {}): Promise<Running> {
  const data = await mkdtemp(join(tmpdir(), 'findspot-e2e-'))
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const child = spawn(FINDSPOT, ['serve', '--port', String(port), '--data', data], {
    env: { ...process.env, FINDSPOT_TOKEN: TOKEN, ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.split('\n')) if (line && !line.includes('"level": "info"')) console.error(line)
  })
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await answers(origin, () => child.exitCode !== null)
  const stop = async () => {
    child.kill('SIGTERM')
    await gone
    await rm(data, { recursive: true, force: true })
  }
  return { origin, data, stop }
}

/** Starts one server and one Chromium for all browser tests. */
export default async function start(project: TestProject) {
  const [server, browser] = await Promise.all([
    serve(),
    chromium.launchServer({ executablePath: CHROMIUM, args: ARGUMENTS }),
  ])
  project.provide('origin', server.origin)
  project.provide('data', server.data)
  project.provide('browser', browser.wsEndpoint())
  return async () => {
    await Promise.all([browser.close(), server.stop()])
  }
}
