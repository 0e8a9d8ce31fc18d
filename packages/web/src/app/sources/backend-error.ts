import type { Explained } from '../../model/run-source.js'

/** Replaces fixes that mention command-line options. */
const FIXES: Readonly<Record<string, string>> = {
  EDIT_NO_ANSWER: 'Choose another step.',
  EDIT_INVALID_ANSWER: 'Correct the edit, or force it.',
  EDIT_NOT_JSON: 'Correct the text: it must be JSON.',
}

/** Explains any thrown value. */
export function explainError(error: unknown): Explained {
  if (typeof error !== 'object' || error === null)
    return { code: 'UNEXPECTED', what: String(error) }
  const text = (name: string): string | undefined => {
    const value = (error as Record<string, unknown>)[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const code = text('code') ?? 'UNEXPECTED'
  const [why, fix] = [text('why'), Object.hasOwn(FIXES, code) ? FIXES[code] : text('fix')]
  return {
    code,
    what: text('what') ?? text('message') ?? 'An unknown error occurred.',
    ...(why !== undefined && { why }),
    ...(fix !== undefined && { fix }),
  }
}

/**
 * An error of the backend, such as a missing run, a corrupt tape or an unreachable server. Pages show
 * `what`, `why` and `fix` unchanged.
 */
export class BackendError extends Error implements Explained {
  override readonly name = 'BackendError'
  readonly code: string
  readonly what: string
  readonly why?: string
  readonly fix?: string
  readonly status: number | undefined

  constructor({ code, what, why, fix }: Explained, status?: number) {
    super(what)
    this.code = code
    this.what = what
    if (why !== undefined) this.why = why
    if (fix !== undefined) this.fix = fix
    this.status = status
  }
}
