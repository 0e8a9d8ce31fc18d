import { clipText } from '@retake/tape/format'
import type { DivergencePoint, EventName } from '../kernel/divergence.js'
import { describeEvent } from '../kernel/event-text.js'

/** Something that a client sent to the proxy and that is not forwarded. */
export type ProxyRefusal =
  | { readonly reason: 'no provider' | 'gone' | 'too large'; readonly request: string }
  | { readonly reason: 'tunnel'; readonly target: string }
  | { readonly reason: 'upgrade'; readonly protocol: string; readonly url: string }
  | { readonly reason: 'malformed'; readonly problem: string }

export function describeRefusal(refusal: ProxyRefusal): string {
  switch (refusal.reason) {
    case 'tunnel':
      return `a tunnel to ${refusal.target}`
    case 'upgrade':
      return `an upgrade to ${refusal.protocol} of ${refusal.url}`
    case 'malformed':
      return `a malformed request (${refusal.problem})`
    case 'no provider':
    case 'gone':
    case 'too large':
      return `${refusal.request}: ${refusal.reason}`
  }
}

/** Why a command and its tape differ. `current` is the request that it made. */
export type ProxyDivergenceReason =
  /** It sent something that is not forwarded, which it had not done when it was recorded. */
  | { readonly code: 'request-refused'; readonly refusal: ProxyRefusal }
  /** The tape has no requests at all. */
  | { readonly code: 'request-unknown'; readonly current: EventName }
  /** The tape has the request `times` times, and all answers are used. */
  | { readonly code: 'request-repeated'; readonly current: EventName; readonly times: number }
  | {
      readonly code: 'request-differs'
      readonly current: EventName
      /** Built-in matchers that would ignore all that differs. */
      readonly matchers?: readonly string[]
    }
  | { readonly code: 'request-missing'; readonly request: EventName }
  | { readonly code: 'stdout-differs'; readonly at: number; readonly sizes: readonly number[] }
  | { readonly code: 'exit-differs'; readonly exits: readonly (string | number | undefined)[] }

export type ProxyDivergenceFacts = DivergencePoint & ProxyDivergenceReason

export const requestName = ({ method, url }: { method: string; url: string }): EventName => ({
  type: 'request',
  method,
  url,
})

const DIFFERENCES_MAX = 5

/** The sentences about a divergence of a command. */
export function proxyDivergenceText(facts: ProxyDivergenceFacts): {
  readonly summary: string
  readonly explanation: string
} {
  switch (facts.code) {
    case 'request-refused':
      return {
        summary: `${describeRefusal(facts.refusal)} is not on the tape`,
        explanation: whyRefused(facts.refusal),
      }
    case 'request-unknown':
      return {
        summary: `${describeEvent(facts.current)} is not on the tape`,
        explanation: 'The tape has no requests.',
      }
    case 'request-repeated': {
      const often = facts.times === 1 ? 'once' : `${facts.times} times`
      return {
        summary: `${describeEvent(facts.current)} was made more often than recorded`,
        explanation: `The same request was recorded ${often}, and its answer was used then.`,
      }
    }
    case 'request-differs': {
      const { mismatches, seq } = facts
      const fields = mismatches.map(({ field }) => field).join(', ')
      const differences = mismatches
        .slice(0, DIFFERENCES_MAX)
        .map(
          ({ field, recorded, current }) => `${field} was ${short(recorded)}, is ${short(current)}`,
        )
      return {
        summary: `${describeEvent(facts.current)} differs from what was recorded: ${fields}`,
        explanation: `The nearest recorded request is event ${seq}; different: ${differences.join('; ')}.`,
      }
    }
    case 'request-missing':
      return {
        summary: `${describeEvent(facts.request)} was not made`,
        explanation: 'The tape has this request; the command ended without it.',
      }
    case 'stdout-differs': {
      const [recorded, current] = facts.sizes
      return {
        summary: `stdout differs from byte ${facts.at}`,
        explanation: `The tape has ${recorded} bytes of stdout, the command wrote ${current}.`,
      }
    }
    case 'exit-differs': {
      const [recorded, current] = facts.exits
      return {
        summary: `the command ended with ${current}, not ${recorded}`,
        explanation: 'A replayed command must end as recorded.',
      }
    }
  }
}

function whyRefused({ reason }: ProxyRefusal): string {
  if (reason === 'no provider') return 'It is not known which one it is for.'
  if (reason === 'gone' || reason === 'too large') return 'It was incomplete.'
  return 'Nothing of the kind is on the tape.'
}

const short = (value: unknown): string =>
  value === undefined ? 'missing' : clipText(JSON.stringify(value), 120)
