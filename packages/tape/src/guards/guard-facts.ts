/**
 * Data that a guard puts on the tape: the draw `guard` before each call it lets
 * through or stops, and the field `guard` of the call's result.
 */

/** Outcome of a guarded call. */
export type GuardStatus = 'done' | 'denied' | 'failed' | 'stopped' | 'in doubt'

/** Effect of a call on the world. `spend`: it costs money or something else that is scarce. */
export type Effect = 'read' | 'write' | 'network' | 'shell' | 'spend'

export type GuardVerdict = 'allow' | 'deny' | 'ask'

/** A limit that ended a call or kept it from starting. */
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
  /** Its `result` event. */
  readonly seq: number
}

/** Drawn when a call is about to start: what the guard decided, and by which rule. */
export interface GuardIntent {
  /** Name of the guard. */
  readonly guard: string
  /** From 1, in the order in which calls of this guard were made. */
  readonly call: number
  /** Digest of the tool and its canonical arguments. */
  readonly fingerprint: string
  /** From 1: how often this very call was made in this run so far. */
  readonly occurrence: number
  readonly verdict: GuardVerdict
  /** The rule that decided, as `policy/rule`; missing when the policy's default did. */
  readonly rule?: string
  /** For a call that does not run: the stable code of the error. */
  readonly code?: string
  readonly why?: string
  /** A call that would be allowed instead. */
  readonly allowed?: string
  readonly exitReason?: ExitReason
  /** Hash of the policy that decided. */
  readonly policy: string
  readonly effects?: readonly Effect[]
  /** The tool says that running it twice does no harm, or that the other side knows a call by its key. */
  readonly idempotent?: boolean
  /** The tool can find out whether a call in doubt has happened. */
  readonly verifiable?: true
  /** The `idempotencyKey` that the tool gets: the same when a resumed run makes the call again. */
  readonly key?: string
  /** For a call that a guarded tool made: which call of which occurrence it is part of. */
  readonly within?: string
  /** Decided anew: the decision before it on the tape was about another call. */
  readonly again?: true
  /** How much the arguments differ from those of earlier runs, where the guard has a baseline. */
  readonly argumentDrift?: ArgumentDrift
  /** The result is on a tape already. */
  readonly served?: ServedFrom
  /** The most the call may use, kept for it before it starts. Tokens of both kinds are one number. */
  readonly reserved?: CallUsage
}

/** How unusual the arguments of a call are: the sum of what each difference weighs. */
export interface ArgumentDrift {
  readonly score: number
  readonly reasons: readonly DriftReason[]
  /** Earlier calls it was compared with. */
  readonly calls: number
}

export interface DriftReason {
  /** Path of the argument, with `[]` for members of a list. */
  readonly path: string
  readonly what: string
  readonly weight: number
}

/** Said of a denied call that had an effect before. */
export const ACTED_TEXT = 'it had sent, written or started something before it was refused'

/** One way in which an answer is not what was promised. */
export interface Drift {
  readonly code:
    | 'TEXT_WHERE_JSON'
    | 'INVALID_JSON'
    | 'MISSING_FIELD'
    | 'TYPE_CHANGED'
    | 'KIND_CHANGED'
    | 'SCHEMA_BROKEN'
  /** Where in the output, such as `items[0].price`; empty for all of it. */
  readonly path: string
  readonly expected: string
  readonly found: string
}

/** Who let a call through that a rule asks about. */
export interface ApprovalFacts {
  readonly by: string
  readonly how: 'callback' | 'terminal' | 'viewer' | 'command' | 'break-glass'
  readonly reason?: string
  /** Of tool, arguments and policy: what exactly was approved. */
  readonly digest: string
  /** Epoch milliseconds. */
  readonly askedAt: number
  readonly decidedAt: number
  readonly expiresAt: number
}

/** Usage of a call, as the tool reports it or its tape shows it. */
export interface CallUsage {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly costUsd?: number
}

/** On the result of a guarded call. */
export interface GuardFacts {
  readonly status: GuardStatus
  readonly exitReason?: ExitReason
  /** How often the tool was started; missing means once, 0 that it never was. */
  readonly attempts?: number
  readonly usage?: CallUsage
  /** Usage beyond what was reserved for it. */
  readonly overused?: CallUsage
  /**
   * Usage that counts in limits, all attempts together, where that is neither `usage` nor, of
   * what that does not tell, what was reserved: after several attempts, or when it was given up.
   */
  readonly counted?: CallUsage
  readonly drift?: readonly Drift[]
  readonly approval?: ApprovalFacts
  readonly served?: ServedFrom
  /** A call in doubt whose `verify` found its effect: the tool was not started again. */
  readonly verified?: true
  /** Access that was denied to the tool while it ran, however it handled that. */
  readonly blocked?: readonly string[]
  /** A denied call had sent, written or started something before it was refused: it is in doubt. */
  readonly acted?: true
  /** Milliseconds the tool took; of a served call, those it took then. */
  readonly tookMs?: number
}

/** One way in which an answer is not what was promised, in a line. */
export const driftText = ({ code, path, expected, found }: Drift): string =>
  `${code}${path === '' ? '' : ` at ${path}`}: expected ${expected}, found ${found}`
