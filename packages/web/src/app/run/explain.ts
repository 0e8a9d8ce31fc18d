import type { Explained } from '../../model/run-head.js'

/** Any error as the viewer shows errors; one that does not explain itself has only what it says. */
export function explain(error: unknown): Explained {
  if (typeof error === 'object' && error !== null) {
    const { code, what, why, fix, message } = error as Record<string, unknown>
    const said = textOf(what) ?? textOf(message)
    if (said !== undefined)
      return {
        code: textOf(code) ?? '',
        what: said,
        ...(textOf(why) !== undefined && { why: textOf(why) }),
        ...(textOf(fix) !== undefined && { fix: textOf(fix) }),
      }
  }
  return { code: '', what: String(error) }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
