import { natives, type Operation } from '@retake/engine/hook'
import {
  atLeast,
  being,
  objectOf,
  oneWord,
  required,
  type DataSchema,
  type TypeOfFields,
} from '@retake/engine/schema'
import type { ApprovalFacts, GuardIntent } from '@retake/tape/guards'
import { reason, toWire } from '@retake/tape/format'
import { requestInFolder } from './approval-files.js'
import { requestFromTeam } from './request-from-team.js'
import { hasTerminal, promptTerminal } from './prompt-terminal.js'
import { type Denial, denialTable, notStarted } from '../denials/guard-error.js'
import { waitFor } from '../limits/clock.js'
import { ownData, ownFields } from '../data/own-data.js'

/** A call that waits for approval. */
export interface ApprovalRequest {
  /** Hash of tool, arguments, occurrence and policy: an approval is valid only for these. */
  readonly digest: string
  readonly guard: string
  readonly tool: string
  readonly args: unknown
  /** Arguments of the last approved call of this tool in this run, in wire format. */
  readonly lastApproved?: unknown
  readonly rule: string
  readonly why: string
  /** Tape and event of the call. */
  readonly tape: string | undefined
  readonly event: number
  /** Epoch milliseconds. */
  readonly askedAt: number
  readonly expiresAt: number
}

export interface ApprovalDecision {
  readonly approved: boolean
  /** Name of the approver, recorded on the tape. */
  readonly by: string
  readonly reason?: string
}

/** Decides on a request. `signal` is aborted when the request expires. */
export type Approver = (
  request: ApprovalRequest,
  signal: AbortSignal,
) => ApprovalDecision | Promise<ApprovalDecision>

const LONGEST_EXPIRY_MS = 2 ** 31 - 1

const APPROVAL = {
  /**
   * Who decides: a function, the terminal, a user of `retake ui` or `retake guard approvals` (`viewer`),
   * or the members of the project in RETAKE_SERVER, RETAKE_PROJECT and RETAKE_API_KEY (`team`).
   * Without an approver, calls that need approval are denied.
   */
  ask: ((check, path, value) => {
    if (typeof value !== 'function')
      oneWord('terminal', 'viewer', 'team', 'a function')(check, path, value)
  }) as DataSchema<Approver | 'terminal' | 'viewer' | 'team'>,
  /**
   * Public keys (PEM) of approvers on other machines, as printed by `retake guard approvals key`. The key
   * of a team server can also be set in RETAKE_APPROVAL_KEY.
   */
  keys: ((check, path, value) => {
    const isKey = (key: unknown): boolean => String(key).startsWith('-----BEGIN PUBLIC KEY-----')
    if (!Array.isArray(value) || !value.every(isKey))
      check.add(
        path,
        'It must be a list of public keys, as `retake guard approvals key` prints them.',
      )
  }) as DataSchema<readonly string[]>,
  /** Time until a request, or its approval, expires; default five minutes. */
  expiresMs: ((check, path, value) => {
    atLeast(0)(check, path, value)
    if (Number(value) > LONGEST_EXPIRY_MS)
      check.add(path, 'An approval is valid for 24 days at most.')
  }) as DataSchema<number>,
  /** Approves every call that needs approval, and records who did so and why. */
  breakGlass: objectOf({ reason: breakGlassText('reason'), by: breakGlassText('by') }),
}

/** May be empty here: a call then says what is missing. */
function breakGlassText(name: string) {
  const text = being<string>('a string', (value) => typeof value === 'string')
  return required(text, `It needs \`${name}\`.`)
}

export type ApprovalOptions = TypeOfFields<typeof APPROVAL>

export const approvalSchema: DataSchema<ApprovalOptions> = (check, path, data) => {
  if (typeof data !== 'string' && typeof data !== 'function')
    return objectOf(APPROVAL)(check, path, data)
  const ask = typeof data === 'string' ? `'${data}'` : 'your function'
  check.add(path, `It must be an object: \`approval: { ask: ${ask} }\`.`)
}

export type Approved =
  | { readonly approval: ApprovalFacts }
  | { readonly denial: Denial; readonly approval?: ApprovalFacts }

type Requested = Pick<ApprovalRequest, 'tool' | 'rule'>

const approvalDenials = denialTable({
  APPROVAL_MISSING: ({ tool, rule }: Requested) => [
    rule,
    notStarted(tool),
    `Rule ${rule} requires approval, and the guard has no approver.`,
    "Give the guard `approval: { ask: 'terminal' }`, 'viewer', 'team', or a function.",
  ],
  APPROVAL_NO_TERMINAL: ({ tool, rule }: Requested) => [
    rule,
    notStarted(tool),
    `Rule ${rule} requires approval on a terminal, and there is none.`,
    "Run it on a terminal, or give the guard `approval: { ask: 'viewer' }` or a function.",
  ],
  APPROVAL_REFUSED: ({ tool, rule }: Requested, { by, reason: why = '' }: ApprovalDecision) => [
    rule,
    notStarted(tool),
    `${by} refused it${why === '' ? '.' : `: ${why.replace(/[.!?]*$/, '')}.`}`,
    'Do something else, or use other arguments.',
  ],
  APPROVAL_EXPIRED: ({ tool, rule }: Requested, seconds: number) => [
    rule,
    notStarted(tool),
    `There was no decision within ${seconds} seconds.`,
    'Make the call again when an approver is available, or set `approval.expiresMs`.',
  ],
  APPROVAL_LAPSED: ({ tool, rule }: Requested, approvedBy: string) => [
    rule,
    notStarted(tool),
    `${approvedBy} approved it, but the approval expired while it waited for other calls.`,
    'Make the call again, set a longer `approval.expiresMs`, or raise the limit of concurrency.',
  ],
  APPROVAL_GIVEN_UP: ({ tool, rule }: Requested) => [
    rule,
    notStarted(tool),
    'The caller aborted it before there was a decision.',
    'Make the call again.',
    'aborted',
  ],
  APPROVAL_FAILED: ({ tool, rule }: Requested, error: unknown) => [
    rule,
    notStarted(tool),
    `The approver failed: ${reason(error)}.`,
    'Fix the approver and make the call again. A function in `approval.ask` must return { approved, by }.',
  ],
  BREAK_GLASS_WITHOUT_REASON: ({ tool, rule }: Requested) => [
    rule,
    notStarted(tool),
    'Break-glass needs a name and a reason, which go on the tape.',
    'Give `approval.breakGlass` both `by` and `reason`.',
  ],
})

async function approveCall(
  request: ApprovalRequest,
  { ask, breakGlass, keys }: ApprovalOptions,
  caller: AbortSignal | undefined,
): Promise<Approved> {
  if (breakGlass !== undefined) {
    const { by, reason } = breakGlass
    if (reason.trim() === '' || by.trim() === '')
      return { denial: approvalDenials.BREAK_GLASS_WITHOUT_REASON(request) }
    return { approval: factsOf(request, { approved: true, by, reason }, 'break-glass') }
  }
  if (ask === 'terminal' && !hasTerminal())
    return { denial: approvalDenials.APPROVAL_NO_TERMINAL(request) }
  const named = {
    terminal: promptTerminal,
    viewer: (asked, waited) => requestInFolder(asked, waited, keys),
    team: (asked, waited) => requestFromTeam(asked, waited, keys),
  } satisfies Record<string, Approver>
  const approver = typeof ask === 'string' ? named[ask] : ask
  if (approver === undefined) return { denial: approvalDenials.APPROVAL_MISSING(request) }
  const how = typeof ask === 'string' ? ask : 'callback'
  const waiting = new AbortController()
  const answer = await waitFor<{ decision: unknown } | { error: unknown }>(
    request.expiresAt - natives.dateNow(),
    caller,
    (resolve) => {
      const decide = async (): Promise<unknown> => approver(request, waiting.signal)
      decide()
        .then((decision) => resolve({ decision }))
        .catch((error: unknown) => resolve({ error }))
    },
  )
  waiting.abort()
  // The event loop may have been blocked past the deadline.
  if (answer === 'time' || natives.dateNow() > request.expiresAt)
    return {
      denial: approvalDenials.APPROVAL_EXPIRED(
        request,
        (request.expiresAt - request.askedAt) / 1000,
      ),
    }
  if (answer === 'aborted') return { denial: approvalDenials.APPROVAL_GIVEN_UP(request) }
  if ('error' in answer) return { denial: approvalDenials.APPROVAL_FAILED(request, answer.error) }
  const decision = ownData(answer.decision)
  if (!isDecision(decision))
    return {
      denial: approvalDenials.APPROVAL_FAILED(request, 'it did not return { approved, by }'),
    }
  const approval = factsOf(request, decision, how)
  return decision.approved
    ? { approval }
    : { denial: approvalDenials.APPROVAL_REFUSED(request, decision), approval }
}

const isDecision = (value: unknown): value is ApprovalDecision =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as ApprovalDecision).approved === 'boolean' &&
  typeof (value as ApprovalDecision).by === 'string' &&
  (value as ApprovalDecision).by.trim() !== '' &&
  ['string', 'undefined'].includes(typeof (value as ApprovalDecision).reason)

const factsOf = (
  { digest, askedAt, expiresAt }: ApprovalRequest,
  { by, reason }: ApprovalDecision,
  how: ApprovalFacts['how'],
): ApprovalFacts => ({
  by,
  how,
  ...(reason !== undefined && { reason }),
  digest,
  askedAt,
  decidedAt: natives.dateNow(),
  expiresAt,
})

const DEFAULT_EXPIRY_MS = 300_000
const NO_OPTIONS: ApprovalOptions = ownFields({})

/** The call that needs approval, and its guard. */
interface WaitingCall {
  readonly name: string
  readonly options: { readonly signal?: AbortSignal }
  readonly run: {
    readonly name: string
    readonly options: { readonly approval?: ApprovalOptions }
    readonly lastApproved: Map<string, unknown>
  }
}

export function requestApproval(
  { run, name, options }: WaitingCall,
  operation: Operation,
  intent: GuardIntent,
  args: unknown,
): Promise<Approved> {
  const { approval = NO_OPTIONS } = run.options
  const last = run.lastApproved.get(name)
  const askedAt = natives.dateNow()
  const approving = approveCall(
    {
      digest: `${intent.fingerprint}-${intent.occurrence}-${intent.policy}`,
      guard: run.name,
      tool: name,
      args,
      ...(last !== undefined && { lastApproved: last }),
      rule: intent.rule ?? 'default',
      why: intent.why ?? '',
      tape: operation.session.recording?.tape,
      event: operation.id,
      askedAt,
      expiresAt: askedAt + (approval.expiresMs ?? DEFAULT_EXPIRY_MS),
    },
    approval,
    options.signal,
  )
  return approving.then((approved) => {
    if (!('denial' in approved)) run.lastApproved.set(name, toWire(args))
    return approved
  })
}

/** An approval can expire while its call waits in the queue. */
export function expiredApproval(
  approval: ApprovalFacts | undefined,
  tool: string,
  intent: GuardIntent,
): Denial | undefined {
  if (approval === undefined || approval.how === 'break-glass') return undefined
  if (natives.dateNow() <= approval.expiresAt) return undefined
  return approvalDenials.APPROVAL_LAPSED({ tool, rule: intent.rule ?? 'default' }, approval.by)
}
