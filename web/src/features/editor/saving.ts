/** Saves a document while it is edited: one request at a time, the newest content last. */

export type SaveState = 'saved' | 'waiting' | 'saving' | 'conflict' | 'failed' | 'refused'

export interface Change {
  readonly title?: string
  readonly content?: unknown
}

/** Sends a change that is based on a revision. Resolves to the new revision. */
export type Send = (change: Change, baseRevision: number) => Promise<number>

interface Options {
  readonly send: Send
  readonly revision: number
  readonly isConflict: (error: unknown) => boolean
  /** Whether the same change would be refused again. */
  readonly isRefused: (error: unknown) => boolean
  readonly onState: (state: SaveState, error?: unknown) => void
  readonly delayMs?: number
  readonly maxDelayMs?: number
  readonly retryMs?: number
  readonly whenIdle?: (run: () => void) => void
}

/** Runs something between two key presses, within a second. */
function whenBrowserIsIdle(run: () => void): void {
  if (typeof requestIdleCallback === 'function') requestIdleCallback(run, { timeout: 1000 })
  else run() // Safari
}

export class SaveQueue {
  private readonly options: Required<Options>
  private revision: number
  private state: SaveState = 'saved'
  private title: string | undefined
  private read: (() => unknown) | undefined
  private unsavedSince: number | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private running: Promise<void> | undefined

  constructor(options: Options) {
    this.options = { delayMs: 900, maxDelayMs: 5000, retryMs: 4000, whenIdle: whenBrowserIsIdle, ...options }
    this.revision = options.revision
  }

  get isClean(): boolean {
    return this.state === 'saved'
  }

  get isInConflict(): boolean {
    return this.state === 'conflict'
  }

  get baseRevision(): number {
    return this.revision
  }

  /** Notes that the content has changed. `read` is called when it is sent, not at every key press. */
  edited(read: () => unknown): void {
    this.read = read
    this.schedule(this.options.delayMs)
  }

  renamed(title: string): void {
    this.title = title
    this.schedule(this.options.delayMs)
  }

  /** Sends what is not saved yet, now. */
  async flush(): Promise<void> {
    clearTimeout(this.timer)
    if (this.running) await this.running
    if (this.hasWork && this.state !== 'conflict') await this.run()
  }

  /** Saves this content over the newer one that a conflict revealed. */
  async overwrite(currentRevision: number): Promise<void> {
    this.revision = currentRevision
    this.set('waiting')
    await this.flush()
  }

  /** Forgets what is not saved. */
  discard(): void {
    clearTimeout(this.timer)
    this.read = undefined
    this.title = undefined
    this.set('saved')
  }

  private get hasWork(): boolean {
    return this.read !== undefined || this.title !== undefined
  }

  private schedule(delay: number): void {
    if (this.state === 'conflict') return
    if (this.state !== 'saving') this.set('waiting')
    clearTimeout(this.timer)
    this.unsavedSince ??= Date.now()
    const left = Math.max(0, this.unsavedSince + this.options.maxDelayMs - Date.now())
    this.timer = setTimeout(() => this.options.whenIdle(() => void this.flush()), Math.min(delay, left))
  }

  private async run(): Promise<void> {
    const { read, title } = this
    this.read = undefined
    this.title = undefined
    this.unsavedSince = undefined
    const change: Change = { ...(title === undefined ? {} : { title }), ...(read ? { content: read() } : {}) }
    this.set('saving')
    this.running = this.options.send(change, this.revision).then(
      (revision) => {
        this.revision = revision
        this.set(this.hasWork ? 'waiting' : 'saved')
      },
      (error: unknown) => {
        this.read ??= read
        this.title ??= title
        if (this.options.isConflict(error)) {
          this.set('conflict')
        } else if (this.options.isRefused(error)) {
          this.set('refused', error)
        } else {
          this.set('failed', error)
          this.timer = setTimeout(() => void this.flush(), this.options.retryMs)
        }
      },
    )
    await this.running
    this.running = undefined
  }

  private set(state: SaveState, error?: unknown): void {
    if (this.state === state) return
    this.state = state
    this.options.onState(state, error)
  }
}
