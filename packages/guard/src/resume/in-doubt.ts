import { readGuards, type ServedFrom, type Tape } from '@retake/tape/format'
import type { GuardedTool } from '../guarded-tool.js'
import type { EarlierCall } from './call-ledger.js'

/** A call whose tool was started and whose answer nobody got: it may have had its effect. */
export interface CallInDoubt {
  readonly tool: string
  readonly args: unknown
  readonly fingerprint: string
  readonly occurrence: number
  /** The `idempotencyKey` of the tool: the other side may know the call by it. */
  readonly key: string | undefined
  /** Its start, on the tape of the run that was stopped. */
  readonly from: ServedFrom
}

/**
 * `fail`: it is not made, and its result says `in doubt` with an error. `retry`: it is
 * made again. `skip`: it is not made, and the run goes on without an error or an output.
 */
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

/** Calls of which a tape has the start and nothing else: its run was ended while they were under way. */
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

/** A tool that may run twice, or whose other side knows a call by its key, is simply called again. */
export function decideDoubt(
  call: EarlierCall,
  { options }: GuardedTool,
  choice: InDoubtChoice = 'fail',
): InDoubtDecision {
  if (options.idempotent === true || options.idempotencyKey !== undefined) return 'retry'
  return typeof choice === 'function' ? choice(describeDoubt(call)) : choice
}
