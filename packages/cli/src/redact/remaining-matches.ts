import type { RunView, Step } from '@retake/tape'
import type { Mask } from './mask.js'

/** A step in which something can still be read that should not. */
export interface Remaining {
  readonly step: Step
  /** Whether it stands in an answer, which can be blanked, or elsewhere. */
  readonly inAnswer: boolean
}

/**
 * Reads a run as the viewer does, with streams put together and compression undone,
 * and finds the steps that still hold a match. A step that cannot be read at all counts.
 */
export function* remainingMatches(view: RunView, mask: Mask): Generator<Remaining> {
  const looked = new Set<string>()
  const holds = (value: unknown): boolean =>
    anyText(value, (text) => !looked.has(text) && bad(text))
  const bad = (text: string): boolean => {
    if (mask.matches(text)) return true
    looked.add(text)
    return false
  }
  for (const step of view.steps) {
    try {
      const exchange = step.exchange()
      const call = step.call()
      const { title, error } = step
      if (
        holds([
          exchange?.answer,
          exchange?.response?.text,
          exchange?.response?.json,
          call,
          step.mcp(),
        ])
      )
        yield { step, inAnswer: true }
      else if (holds([title, error, exchange?.error, exchange?.request, exchange?.messages]))
        yield { step, inAnswer: !mask.matches(exchange?.request.text ?? '') }
    } catch {
      yield { step, inAnswer: true }
    }
  }
}

function anyText(value: unknown, is: (text: string) => boolean): boolean {
  if (typeof value === 'string') return is(value)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  if (value instanceof Map) return anyText([...value], is)
  if (value instanceof Set) return anyText([...value], is)
  if (value instanceof Error) return is(value.message) || is(value.stack ?? '')
  return Object.entries(value).some(([key, member]) => is(key) || anyText(member, is))
}
