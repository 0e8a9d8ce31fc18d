import { isCostUnknown, originOf } from '@retake/tape'
import type { RunView, Step, StepOrigin, Tape } from '@retake/tape'

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
  for (const step of steps) {
    const { kind, provider, usage, costUsd = 0 } = step
    if (kind !== 'model' && kind !== 'http' && provider !== 'mcp') continue
    requests += 1
    if (kind !== 'model') continue
    if (usage) tokens += usage.input + usage.cachedInput + usage.cacheWrite + usage.output
    usd = usd === undefined || isCostUnknown(step) ? undefined : usd + costUsd
  }
  return { requests, tokens, usd }
}
