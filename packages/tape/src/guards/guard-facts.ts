/**
 * Data that a guard writes to the tape: the draw `guard` before each call that it allows or stops,
 * and the field `guard` of the call's result.
 */

export type GuardStatus = 'done' | 'denied' | 'failed' | 'stopped' | 'in doubt'

/** Effect of a call on the world. `spend`: it costs money or another scarce resource. */
export type Effect = 'read' | 'write' | 'network' | 'shell' | 'spend'

export type GuardVerdict = 'allow' | 'deny' | 'ask'

/** A limit that ended a call or prevented its start. */
export type ExitReason =
  | 'timeout'
  | 'aborted'
  | 'output-size'
  | 'calls'
  | 'concurrency'
  | 'tokens'
  | 'cost'
  | 'cost-per-minute'
  | 'loop'
  | 'circuit-open'
  | 'retries'

/** A call on the tape of this or an earlier run. */
export interface ServedFrom {
  readonly run: string
  /** Number of its `result` event. */
  readonly seq: number
}

/** Drawn before a call starts: the decision of the guard, and the rule. */
export interface GuardIntent {
  readonly guard: string
  /** From 1, in the order in which calls of this guard were made. */
  readonly call: number
  /** Digest of the tool and its canonical arguments. */
  readonly fingerprint: string
  /** Ordinal of this call among identical ones in this run, from 1. */
  readonly occurrence: number
  readonly verdict: GuardVerdict
  /** The rule that decided, as `policy/rule`; missing if the policy's default decided. */
  readonly rule?: string
  /** For a call that does not run: the stable error code. */
  readonly code?: string
  readonly why?: string
  /** A call that would be allowed instead. */
  readonly allowed?: string
  readonly exitReason?: ExitReason
  /** Hash of the policy that decided. */
  readonly policy: string
  readonly effects?: readonly Effect[]
  /**
   * True if the tool declares that running it twice is harmless, or that the other side recognises
   * repeated calls by their key.
   */
  readonly idempotent?: boolean
  /** Set if the tool can find out whether a call in doubt had its effect. */
  readonly verifiable?: true
  /** The `idempotencyKey` for the tool: the same if a resumed run repeats the call. */
  readonly key?: string
  /** For a call made by a guarded tool: the enclosing call and its occurrence. */
  readonly within?: string
  /** Set on a new decision that replaces one about a different call on the tape. */
  readonly again?: true
  /** How much the arguments differ from those of earlier runs, if the guard has a baseline. */
  readonly argumentDrift?: ArgumentDrift
  /** Set if the result is already on a tape. */
  readonly served?: ServedFrom
  /** Maximum usage, reserved before the call starts. Input and output tokens are one number. */
  readonly reserved?: CallUsage
}

/** How unusual the arguments of a call are: the sum of the weights of all differences. */
export interface ArgumentDrift {
  readonly score: number
  readonly reasons: readonly DriftReason[]
  /** Number of earlier calls that it was compared with. */
  readonly calls: number
}

export interface DriftReason {
  /** Path of the argument, with `[]` for members of a list. */
  readonly path: string
  readonly what: string
  readonly weight: number
}

/** Describes a denied call that had an effect before. */
export const ACTED_TEXT = 'it had sent, written or started something before it was refused'

/** One difference between an answer and its contract. */
export interface Drift {
  readonly code:
    | 'TEXT_WHERE_JSON'
    | 'INVALID_JSON'
    | 'MISSING_FIELD'
    | 'TYPE_CHANGED'
    | 'KIND_CHANGED'
    | 'SCHEMA_BROKEN'
  /** Path in the output, such as `items[0].price`; empty for the whole output. */
  readonly path: string
  readonly expected: string
  readonly found: string
}

/** Who allowed a call for which a rule requires approval. */
export interface ApprovalFacts {
  readonly by: string
  readonly how: 'callback' | 'terminal' | 'viewer' | 'team' | 'command' | 'break-glass'
  readonly reason?: string
  /** Digest of tool, arguments and policy: exactly what was approved. */
  readonly digest: string
  /** Epoch milliseconds. */
  readonly askedAt: number
  readonly decidedAt: number
  readonly expiresAt: number
}

/** Usage of a call, as reported by the tool or shown on its tape. */
export interface CallUsage {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly costUsd?: number
}

/** Facts on the result of a guarded call. */
export interface GuardFacts {
  readonly status: GuardStatus
  readonly exitReason?: ExitReason
  /** Number of starts of the tool; missing means 1, 0 means that it never started. */
  readonly attempts?: number
  readonly usage?: CallUsage
  /** Usage beyond the reservation. */
  readonly overused?: CallUsage
  /**
   * Usage that counts against limits, for all attempts together. Only set if it differs from
   * `usage` completed by the reserved amounts: after several attempts, or if the call was
   * abandoned.
   */
  readonly counted?: CallUsage
  readonly drift?: readonly Drift[]
  readonly approval?: ApprovalFacts
  readonly served?: ServedFrom
  /** Set if `verify` found the effect of a call in doubt, so that the tool was not started again. */
  readonly verified?: true
  /** Access that the tool was denied while it ran, even if it handled the denial. */
  readonly blocked?: readonly string[]
  /** Set if a denied call had sent, written or started something before it was refused: it is in doubt. */
  readonly acted?: true
  /** Duration of the tool in milliseconds; for a served call, the recorded duration. */
  readonly tookMs?: number
}

/** True if the tool ran for a call, now or in an earlier run. */
export const hasRun = ({ attempts, served, verified }: GuardFacts): boolean =>
  attempts !== 0 || served !== undefined || verified === true

/** One difference between an answer and its contract, in one line. */
export const driftText = ({ code, path, expected, found }: Drift): string =>
  `${code}${path === '' ? '' : ` at ${path}`}: expected ${expected}, found ${found}`
