import type { RunView, Step, Tape, TapeEvent } from '@retake/tape'

/**
 * - `served`: its answer came from the tape of the parent
 * - `edited`: its answer was put there by a fork
 * - `lost`: it was under way when the run went live, and could not go on
 * - `live`: it was really asked
 */
export type StepOrigin = 'served' | 'edited' | 'lost' | 'live'

/** What a branch got from its parent instead of asking again. */
export interface BranchFacts {
  readonly served: number
  /** Steps that were under way and could not go on. */
  readonly lost: number
  readonly live: number
  /** Requests to models and servers that were not sent. */
  readonly savedRequests: number
  readonly savedTokens: number
  /** Undefined when the price of a served model call is not known. */
  readonly savedUsd: number | undefined
  /** How long the parent took for what was served. */
  readonly savedMs: number
  readonly paidRequests: number
  readonly paidTokens: number
  readonly paidUsd: number | undefined
}

/** Where the answer of a step of a branch came from; undefined in a run that is no branch. */
export function originOf(tape: Tape, step: Step): StepOrigin | undefined {
  const { branch } = tape.details
  if (branch === undefined || step.inferred) return undefined
  const own = step.answerSeqs.filter((seq) => !isFromParent(tape, seq))
  // On its own tape it was asked, unless every part of its answer is the parent's.
  if (step.seq >= tape.ownFrom) {
    const isServed = step.answerSeqs.length > 0 && own.length === 0
    return isServed ? 'served' : 'live'
  }
  const isForkedAt = branch.at === step.label
  if (isForkedAt && branch.edits.some(({ target }) => target === 'answer')) return 'edited'
  if (own.length === 0) return isForkedAt && step.answerSeqs.length === 0 ? 'live' : 'served'
  if (isForkedAt) return 'live'
  return own.some((seq) => hasContent(tape.event(seq))) ? 'live' : 'lost'
}

function isFromParent(tape: Tape, seq: number): boolean {
  if (seq < tape.ownFrom) return true
  const event = tape.event(seq)
  return 'from' in event && event.from !== undefined
}

/** Whether this part of an answer came from somebody; errors and ends are also made when a run goes live. */
function hasContent(event: TapeEvent): boolean {
  if (event.type === 'response') return true
  if (event.type === 'result') return event.error?.code !== 'ANSWER_LOST'
  return event.type === 'deliver' && (event.part === 'chunk' || event.part === 'message')
}

/** A killed run that went on: its tape does not say where, because it is one run. */
export interface ResumedOnOwnTape {
  /** Number of events that the tape held before. */
  readonly from: number
  /** Events that started a step in doubt which was not made again. */
  readonly unasked: ReadonlySet<number>
}

function originAfterResume(step: Step, { from, unasked }: ResumedOnOwnTape): StepOrigin {
  if (unasked.has(step.seq)) return 'lost'
  return step.seq < from && step.answerSeqs.every((seq) => seq < from) ? 'served' : 'live'
}

/** `resumed`: on its own tape; then what the tape held already is what was served. */
export function branchFacts(tape: Tape, view: RunView, resumed?: ResumedOnOwnTape): BranchFacts {
  const servedTo = resumed?.from ?? tape.ownFrom
  const live: Step[] = []
  const notAsked: Step[] = []
  let lost = 0
  for (const step of view.recordedSteps) {
    const origin = resumed ? originAfterResume(step, resumed) : originOf(tape, step)
    if (origin === 'lost') lost += 1
    else if (origin === undefined || origin === 'live') live.push(step)
    else notAsked.push(step)
  }
  const saved = sum(notAsked)
  const paid = sum(live)
  return {
    served: notAsked.length,
    lost,
    live: live.length,
    savedRequests: saved.requests,
    savedTokens: saved.tokens,
    savedUsd: saved.usd,
    savedMs: servedTo > 0 ? tape.event(servedTo - 1).at : 0,
    paidRequests: paid.requests,
    paidTokens: paid.tokens,
    paidUsd: paid.usd,
  }
}

function sum(steps: readonly Step[]): {
  requests: number
  tokens: number
  usd: number | undefined
} {
  let [requests, tokens] = [0, 0]
  let usd: number | undefined = 0
  for (const { kind, provider, usage, costUsd } of steps) {
    if (kind !== 'model' && kind !== 'http' && provider !== 'mcp') continue
    requests += 1
    if (kind !== 'model') continue
    if (usage) tokens += usage.input + usage.cachedInput + usage.cacheWrite + usage.output
    usd = usd === undefined || costUsd === undefined ? undefined : usd + costUsd
  }
  return { requests, tokens, usd }
}
