import type { BranchFile } from './branch-view.js'
import type { Job } from './job.js'
import type { Move, OpenedSession, SessionPosition, SessionValue } from './session-view.js'

/** What can be done with the runs of a home where programs can be run: fork, rerun, stand at a step, decide. */
export interface HomeChanges {
  editable(run: string, at: string): Promise<Editable>
  fork(run: string, request: ForkRequest): Promise<Job>
  rerun(run: string, options: { readonly name?: string }): Promise<Job>
  /** Stops a job's process; what it recorded stays. */
  stop(job: string): Promise<void>
  jobs(): readonly Job[]
  /** A place in the run that one can move, with the program really standing there. */
  openSession(run: string): Promise<OpenedSession>
  /** Moves are done one after another; one whose signal is aborted before its turn is left out. */
  move(
    session: string,
    to: Move,
    options?: { readonly signal?: AbortSignal },
  ): Promise<SessionPosition>
  evaluate(session: string, expression: string): Promise<SessionValue>
  /** Its processes end. One that is closed already is no error. */
  closeSession(session: string): Promise<void>
  /** What a branch wrote to files: they lie beside its tape, and the disk is as it was. */
  branchFiles(run: string): Promise<readonly BranchFile[]>
  /** Guarded calls of a run that wait for somebody to decide, the oldest first. */
  approvals(run: string): Promise<readonly WaitingApproval[]>
  /** Throws when the call does not wait any more, or is not the one that was shown. */
  decide(run: string, decision: ApprovalDecisionRequest): Promise<void>
}

/** What a fork changes: its answer, the question, or nothing (asked again live). */
export interface ForkRequest {
  /** Label of a step; `e17` means event 17, for a clock or random value. */
  readonly at: string
  /** Changes of the parsed answer or result, by path. */
  readonly set?: Readonly<Record<string, unknown>>
  /** Changes of the request or the arguments, by path. */
  readonly request?: Readonly<Record<string, unknown>>
  /** The whole answer as edited, in the form in which `editable` gave it. The branch says what differs. */
  readonly response?: string
  /** The same of the request; keys may come and go. */
  readonly requestText?: string
  readonly status?: number
  readonly tail?: 'live' | 'offline'
  readonly name?: string
  readonly force?: boolean
}

/** What can be edited of a step, as text: JSON where it is JSON. */
export interface Editable {
  readonly answer?: EditableText
  readonly request?: EditableText
  /** Why there is no answer to edit, or none that can be. */
  readonly whyNoAnswer?: string
  readonly whyNoRequest?: string
}

export interface EditableText {
  readonly form: 'json' | 'text'
  readonly text: string
  /** `result` and `error`: how a tool ended. `base64`: bytes that are no text. */
  readonly kind: 'json' | 'text' | 'base64' | 'result' | 'error' | 'value'
  /** Of an answer that came over HTTP. */
  readonly status?: number
  /** It came in pieces, and will again: what is edited is what they add up to. */
  readonly streamed?: boolean
}

/** A guarded call that waits for approval. */
export interface WaitingApproval {
  /** Names exactly what is shown here; goes back with the decision. */
  readonly id: string
  readonly tool: string
  /** The arguments as JSON, in full. */
  readonly args: string
  readonly guard: string
  readonly rule: string
  readonly why: string
  /** Its event, which is a step of the run. */
  readonly event: number
  /** Epoch milliseconds. */
  readonly askedAt: number
  readonly expiresAt: number
}

export interface ApprovalDecisionRequest {
  readonly id: string
  readonly approved: boolean
  readonly reason?: string
}
