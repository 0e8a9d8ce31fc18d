import type { RunView, Step, Tape } from '@retake/tape'

/**
 * - `served`: its answer came from the tape of the parent
 * - `edited`: its answer was put there by a fork
 * - `live`: it was really asked
 */
export type StepOrigin = 'served' | 'edited' | 'live'

/** What a branch got from its parent instead of asking again. */
export interface BranchFacts {
  readonly served: number
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
  const isChanged =
    branch.at === step.label && branch.edits.some(({ target }) => target === 'answer')
  if (isChanged && step.seq < tape.ownFrom) return 'edited'
  const isServed =
    step.answerSeqs.length > 0
      ? step.answerSeqs.every((seq) => isFromParent(tape, seq))
      : step.seq < tape.ownFrom && step.kind === 'mark'
  return isServed ? 'served' : 'live'
}

function isFromParent(tape: Tape, seq: number): boolean {
  if (seq < tape.ownFrom) return true
  const event = tape.event(seq)
  return 'from' in event && event.from !== undefined
}

export function branchFacts(tape: Tape, view: RunView): BranchFacts {
  const steps = { served: [] as Step[], edited: [] as Step[], live: [] as Step[] }
  for (const step of view.recordedSteps) steps[originOf(tape, step) ?? 'live'].push(step)
  const saved = sum([...steps.served, ...steps.edited])
  const paid = sum(steps.live)
  return {
    served: steps.served.length + steps.edited.length,
    live: steps.live.length,
    savedRequests: saved.requests,
    savedTokens: saved.tokens,
    savedUsd: saved.usd,
    savedMs: tape.ownFrom > 0 ? tape.event(tape.ownFrom - 1).at : 0,
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
  for (const { kind, usage, costUsd } of steps) {
    if (kind !== 'model' && kind !== 'http') continue
    requests += 1
    if (kind !== 'model') continue
    if (usage) tokens += usage.input + usage.cachedInput + usage.cacheWrite + usage.output
    usd = usd === undefined || costUsd === undefined ? undefined : usd + costUsd
  }
  return { requests, tokens, usd }
}
