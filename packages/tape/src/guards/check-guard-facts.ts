import { recordedError } from '../format/check-records.js'
import type { DrawEvent, ResultEvent } from '../format/events.js'
import {
  any,
  flag,
  listOf,
  mapOf,
  natural,
  number,
  object,
  oneOf,
  optional,
  runId,
  text,
  time,
} from '../format/values/checks.js'
import type { GuardFacts, GuardIntent } from './guard-facts.js'

/**
 * Checks of what a tape says about guarded calls. The format does not know these facts, and a tape
 * from a stranger may contain any JSON in their place. A check returns what is wrong.
 */
const texts = listOf(text)
const form = optional(oneOf('bytes', 'text', 'json'))
const usage = object({
  inputTokens: optional(number),
  outputTokens: optional(number),
  costUsd: optional(number),
})
const exitReason = optional(text)
const served = object({ run: runId, seq: natural })

const approval = object({
  by: text,
  how: text,
  reason: optional(text),
  digest: text,
  askedAt: time,
  decidedAt: time,
  expiresAt: time,
})

export const factsProblem = object({
  status: oneOf('done', 'denied', 'failed', 'stopped', 'in doubt'),
  exitReason,
  attempts: optional(natural),
  usage: optional(usage),
  overused: optional(usage),
  counted: optional(usage),
  drift: optional(listOf(object({ code: text, path: text, expected: text, found: text }))),
  approval: optional(approval),
  served: optional(served),
  verified: optional(flag),
  blocked: optional(texts),
  acted: optional(flag),
  tookMs: optional(number),
})

export const intentProblem = object({
  guard: text,
  call: natural,
  fingerprint: text,
  occurrence: natural,
  verdict: oneOf('allow', 'deny', 'ask'),
  rule: optional(text),
  code: optional(text),
  why: optional(text),
  allowed: optional(text),
  exitReason,
  policy: text,
  effects: optional(texts),
  idempotent: optional(flag),
  verifiable: optional(flag),
  key: optional(text),
  within: optional(text),
  again: optional(flag),
  argumentDrift: optional(
    object({
      score: number,
      reasons: listOf(object({ path: text, what: text, weight: number })),
      calls: number,
    }),
  ),
  served: optional(served),
  reserved: optional(usage),
})

const op = natural

/** The notes of a guard, by the keys of `GUARD_NOTES`. */
const GUARD_NOTE_CONTENTS = {
  opened: object({
    guard: text,
    policy: object({ hash: text, policies: listOf(any) }),
    environment: object({
      node: text,
      platform: text,
      retake: mapOf(text),
      git: optional(object({ revision: text, branch: optional(text) })),
      lockfile: optional(object({ name: text, sha256: text })),
    }),
    resumes: optional(listOf(object({ run: runId, chain: text }))),
  }),
  approved: object({ op, approval: optional(approval) }),
  again: object({ op, intent: intentProblem, spent: optional(usage) }),
  call: object({
    intent: intentProblem,
    tool: text,
    as: oneOf('bytes', 'text', 'json'),
    body: text,
  }),
  result: object({
    op,
    facts: factsProblem,
    as: form,
    body: optional(text),
    error: optional(recordedError),
  }),
  leftOpen: object({
    guard: text,
    calls: listOf(object({ tool: text, fingerprint: text, occurrence: natural, from: served })),
  }),
  spent: object({
    guard: text,
    usage,
    tool: optional(text),
    op: optional(op),
    isSaidAgain: optional(flag),
  }),
} as const

/** The fault in the content of a guard's note. */
export const guardNoteProblem = (
  kind: keyof typeof GUARD_NOTE_CONTENTS,
  content: unknown,
): string | undefined => GUARD_NOTE_CONTENTS[kind](content)

/** The decision in a draw; undefined for other draws, and for a value that no guard wrote. */
export const intentOf = ({ kind, value }: DrawEvent): GuardIntent | undefined =>
  kind === 'guard' && intentProblem(value) === undefined ? (value as GuardIntent) : undefined

/** The facts of a result; undefined without a guard, and for facts that no guard wrote. */
export const factsOf = ({ guard }: Pick<ResultEvent, 'guard'>): GuardFacts | undefined =>
  guard === undefined || factsProblem(guard) !== undefined ? undefined : (guard as GuardFacts)
