import type { Judgement, RunOutcome } from './oracle.js'

export type Judge = (outcome: RunOutcome, signal: AbortSignal) => Judgement | Promise<Judgement>

/** One form of oracle, before it is bounded in time and kept from runs that broke. */
export interface Check {
  /** Gets ready for one judgement; how long that takes is not the oracle's fault. */
  prepare(): Judge | Promise<Judge>
  /** It may also judge a run that did not come to its end. */
  readonly judgesBroken?: boolean
  /** What it depends on beside its text, for `Oracle.key`. */
  readonly key?: string
  /** How long it may take unless the user says so. */
  readonly timeoutMs?: number
}

/** Says that an oracle on the command line or in a configuration is wrong. */
export type WrongOracle = (what: string, why: string) => Error
