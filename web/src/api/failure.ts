/** An error that the API answered, or the lack of any answer (`status` 0, code `OFFLINE`). */
export class ApiFailure extends Error {
  constructor(
    readonly code: string,
    readonly status: number,
    message: string,
    readonly fields: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
    this.name = 'ApiFailure'
  }

  get retryAfterMs(): number | undefined {
    const wait = this.fields.retryAfterMs
    return typeof wait === 'number' ? wait : undefined
  }

  /** The reason in the reader's language, if the server gave one. */
  get notice(): string {
    const notice = this.fields.notice
    return typeof notice === 'string' ? notice : this.message
  }
}

/** Returns the failure that a rejected request stands for. */
export function failureOf(error: unknown, response?: Response): ApiFailure {
  if (error instanceof ApiFailure) return error
  if (error instanceof Error && error.name === 'ZodError') {
    return new ApiFailure('INTERNAL', 200, 'The answer has an unexpected shape.')
  }
  const fields = typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {}
  if (typeof fields.code === 'string' && typeof fields.message === 'string') {
    return new ApiFailure(fields.code, response?.status ?? 0, fields.message, fields)
  }
  if (response) {
    const wrongShape = response.ok ? 'The answer has an unexpected shape.' : response.statusText
    return new ApiFailure('INTERNAL', response.status, wrongShape)
  }
  if (error instanceof DOMException && error.name === 'AbortError') return new ApiFailure('ABORTED', 0, error.message)
  if (error instanceof TypeError) return new ApiFailure('OFFLINE', 0, 'The server does not answer.')
  return new ApiFailure('INTERNAL', 0, error instanceof Error ? error.message : String(error))
}
