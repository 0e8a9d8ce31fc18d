import type { Explained } from '../../model/run-head.js'

/** What an error says to people: its four parts where it has them, its message otherwise. */
export function explainedError(error: unknown): Explained {
  if (typeof error === 'object' && error !== null) {
    const { code, what, why, fix, message } = error as Partial<Explained> & { message?: unknown }
    if (typeof code === 'string' && typeof what === 'string')
      return {
        code,
        what,
        ...(typeof why === 'string' && { why }),
        ...(typeof fix === 'string' && { fix }),
      }
    if (typeof message === 'string') return { code: '', what: message }
  }
  return { code: '', what: String(error) }
}
