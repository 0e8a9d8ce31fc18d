import type { Explained } from '../../model/run-head.js'

/** Whatever was thrown, as something to tell a person. Errors with a code say more than those without. */
export function explainError(error: unknown): Explained {
  if (typeof error !== 'object' || error === null)
    return { code: 'UNEXPECTED', what: String(error) }
  const text = (name: string): string | undefined => {
    const value = (error as Record<string, unknown>)[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const [why, fix] = [text('why'), text('fix')]
  return {
    code: text('code') ?? 'UNEXPECTED',
    what: text('what') ?? text('message') ?? 'Something failed without saying what.',
    ...(why !== undefined && { why }),
    ...(fix !== undefined && { fix }),
  }
}
