import { readGuards, type ServedFrom, type Tape } from '@retake/tape/format'
import type { GuardedTool } from '../guarded-tool.js'
import type { EarlierCall } from './call-ledger.js'

/** A call that started and has no result: it may have had its effect. */
export interface CallInDoubt {
  readonly tool: string
  readonly args: unknown
  readonly fingerprint: string
  readonly occurrence: number
  /** Its idempotency key. */
  readonly key: string | undefined
  /** Its start on the tape of the stopped run. */
  readonly from: ServedFrom
}

/** `fail`: not made, with an error. `retry`: made again. `skip`: not made, without error or output. */
export type InDoubtDecision = 'fail' | 'retry' | 'skip'

export type InDoubtChoice = InDoubtDecision | ((call: CallInDoubt) => InDoubtDecision)

export const describeDoubt = (call: EarlierCall): CallInDoubt => ({
  tool: call.tool,
  args: call.args(),
  fingerprint: call.intent.fingerprint,
  occurrence: call.intent.occurrence,
  key: call.intent.key,
  from: call.from,
})

/** Calls on a tape that started and have no result. */
export const underWayOn = (tape: Tape): readonly CallInDoubt[] =>
  readGuards(tape)
    .calls.filter(({ facts, state }) => facts === undefined && state === 'in doubt')
    .map((call) => {
      const { tool, callSeq: seq } = call
      const { fingerprint, occurrence, key } = call.intent
      return {
        tool,
        args: call.args(),
        fingerprint,
        occurrence,
        key,
        from: { run: tape.run.id, seq },
      }
    })

/** Idempotent tools are retried. */
export function decideDoubt(
  call: EarlierCall,
  { options }: GuardedTool,
  choice: InDoubtChoice = 'fail',
): InDoubtDecision {
  if (options.idempotent === true || options.idempotencyKey !== undefined) return 'retry'
  return typeof choice === 'function' ? choice(describeDoubt(call)) : choice
}
