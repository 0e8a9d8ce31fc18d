import type { Explained } from '../../model/run-head.js'

/** What an error says to people, in a form that can be sent: its four parts where it has them. */
export function explain(error: unknown): Explained {
  const { code, what, why, fix } = (error ?? {}) as Partial<Record<keyof Explained, unknown>>
  if (typeof code === 'string' && typeof what === 'string')
    return {
      code,
      what,
      ...(typeof why === 'string' && { why }),
      ...(typeof fix === 'string' && { fix }),
    }
  return { code: 'REPORT_FAILED', what: error instanceof Error ? error.message : String(error) }
}

/** An error that was sent, as one that can be thrown. */
export const explainedError = (explained: Explained): Error =>
  Object.assign(
    new Error([explained.what, explained.why, explained.fix].filter(Boolean).join(' ')),
    explained,
  )
