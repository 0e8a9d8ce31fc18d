import type { RowMessage, RunStatus, StepRow } from '@retake/tape/present'
import type { StateView } from './state-view.js'
import type {
  BranchDetails,
  ExchangeResponse,
  FrameworkScope,
  HeaderPair,
  McpExchange,
  Message,
  NotCaptured,
  ParentLink,
  RecordedError,
  Step,
  TapeEvent,
} from '@retake/tape'

/** Label of the row for an error that ended the run outside of its steps. */
export const CRASH_LABEL = 'crash'

/** Everything about one step, except large parts, which are fetched separately. */
export interface StepDetail
  extends
    StepRow,
    Pick<Step, 'number' | 'startedAt' | 'timeToFirstChunkMs' | 'usage' | 'finishReason' | 'guard'> {
  /**
   * `file:line:column` in the agent's code. If the call did not record it, the first line of the agent
   * in the stack of `failure`.
   */
  readonly site: string | undefined
  readonly scopes: readonly FrameworkScope[]
  /** The last delivery, when the agent had the whole answer. */
  readonly answeredSeq: number | undefined
  readonly conversation: Conversation | undefined
  readonly request: RequestDetail | undefined
  readonly response: ResponseDetail | undefined
  readonly call: CallView | undefined
  readonly mcp: McpExchange | undefined
  /** A thrown error with its stack. If an answer only reports a failure, `error` is set instead. */
  readonly failure: RecordedError | undefined
}

/** Long strings are clipped. */
export interface Conversation {
  readonly total: number
  /** Index of the first of `messages`. More follow if they do not reach `total`. */
  readonly from: number
  readonly messages: readonly Message[]
  /**
   * Index of the first message that no earlier step of this conversation sent or received; 0 if there
   * is no earlier step, `total` if nothing is new.
   */
  readonly newFrom: number
  readonly seenIn?: string
  readonly answer: readonly Message[]
  /** Keys of the request that contain the messages. */
  readonly members: readonly string[]
}

export interface RequestDetail {
  readonly method: string
  readonly url: string
  readonly headers: readonly HeaderPair[]
  /** True if the address or a header was too long to be sent whole. */
  readonly isCut: boolean
  readonly body: BodyView
}

export interface ResponseDetail extends Pick<
  ExchangeResponse,
  'status' | 'statusText' | 'headers' | 'complete' | 'problem' | 'undecoded'
> {
  readonly body: BodyView
  readonly chunks: number
  readonly events?: StreamEvents
}

export interface StreamEvents {
  readonly total: number
  /** The first events. The body contains all. */
  readonly events: readonly {
    /** Milliseconds from the start of the step to the chunk that completed it. */
    readonly at: number
    readonly event: string
    readonly data: string
    readonly id?: string
    readonly clipped?: boolean
  }[]
}

/** A tool, a child process or an MCP request. Values are plain JSON with long strings clipped. */
export interface CallView {
  readonly name: string
  readonly args: unknown
  readonly result: unknown
  readonly error: RecordedError | undefined
  readonly output: readonly {
    readonly at: number
    readonly pipe: number
    readonly text: string
    readonly isLossy?: boolean
  }[]
  /** Set if `output` is not complete. */
  readonly outputBytes?: number
}

/** A body for display. `RunSource.body` returns its bytes. */
export interface BodyView {
  readonly bytes: number
  readonly form: 'json' | 'text' | 'binary' | 'empty'
  /** Up to a limit; empty for `binary`. */
  readonly text: string
  readonly clipped: boolean
}

export const BODY_SIDES = ['request', 'response', 'args', 'result', 'output'] as const
export type BodySide = (typeof BODY_SIDES)[number]

/**
 * Replaces a long string in plain JSON. In large arrays and objects, a last item
 * `{ "$leftOut": 120 }` or a last member `"$leftOut": 120` counts the rest. A recorded key with such a
 * name gets one more `$`.
 */
export interface Clipped {
  readonly $clipped: { readonly head: string; readonly length: number }
}

export interface AnswerFrames {
  /** Milliseconds from the start of the step, and the answer as of then. */
  readonly frames: readonly { readonly at: number; readonly answer: readonly Message[] }[]
  /** Number of chunks. Long streams have fewer frames than chunks. */
  readonly chunks: number
}

/** One run as the viewer reads it: from a server, or from the worker of a report. */
export interface RunSource {
  head(): Promise<RunHead>
  /** Recorded rows from an index on, then everything that needs all of them. */
  rows(options?: { from?: number; signal?: AbortSignal }): AsyncIterable<RowMessage>
  /** Undefined if the step does not exist. `messagesFrom` selects earlier messages of a long conversation. */
  step(label: string, options?: { messagesFrom?: number }): Promise<StepDetail | undefined>
  stream(label: string): Promise<AnswerFrames | undefined>
  body(label: string, side: BodySide): Promise<Uint8Array>
  /** Captured variables after the answer to the step. */
  state(label: string): Promise<StateView | undefined>
  console(): Promise<readonly ConsolePart[]>
  files(): Promise<readonly FileTouch[]>
  events(from: number, to: number): Promise<readonly EventRow[]>
  event(seq: number): Promise<unknown>
  /** Events whose type or line contains a text, as they are found. */
  findEvents(text: string, signal: AbortSignal): AsyncIterable<FoundEvents>
  search(text: string, signal: AbortSignal): AsyncIterable<SearchProgress>
  source(site: string): Promise<SourceExcerpt | undefined>
  /** What the capability of a tab found. */
  findings(tab: string): Promise<unknown>
}

export interface ConsolePart {
  readonly seq: number
  readonly at: number
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
  /** `text` is cut. */
  readonly clipped: boolean
  /** Some bytes are not UTF-8; each is shown as a replacement character. */
  readonly isLossy?: boolean
  /** On a last part without text: the number of parts left out. */
  readonly leftOut?: number
}

/**
 * `look`: metadata, such as `stat`. `change`: created, moved, copied, linked or chmod.
 * `other`: opened, or an unknown call.
 */
export type SourceAccess = 'read' | 'write' | 'list' | 'remove' | 'look' | 'change' | 'other'

export interface FileTouch {
  readonly seq: number
  readonly at: number
  /** For example `fs.readFile`. */
  readonly call: string
  readonly access: SourceAccess
  readonly path: string
  readonly ok: boolean
  readonly error?: string
  readonly bytes?: number
  readonly step: string | undefined
}

export interface EventRow {
  readonly seq: number
  readonly at: number
  readonly type: string
  readonly text: string
  readonly op: number | undefined
  readonly bytes: number
}

export interface FoundEvents {
  readonly rows: readonly EventRow[]
  readonly isCut?: boolean
}

export interface SearchHit {
  /** Undefined for the console and events outside of steps. */
  readonly step: string | undefined
  readonly seq: number
  readonly field: SearchField
  /**
   * Path of the hit in the step, in the notation of `retake fork --set` (see `parsePath` of
   * `@retake/tape`): keys and indexes separated by dots, with quotes around keys with special
   * characters. The first key says where to look:
   *
   * - `title`, `error`, `site`, `scopes.0` (its name)
   * - `failure.stack`, `failure.message`, `failure.cause.message`
   * - `messages.3.parts.0.text`, `answer.0.parts.1.args.city`: of the conversation
   * - `args`, `args.city`, `result.rows.2`, `output.4`: of a call
   * - `request.url`, `request.headers.2`, `request.body`, `request.body.order.id`
   * - `response.headers.0`, `response.body`, `response.events.7`
   * - `frames.0.variables.2.json.items.1`: of the captured state
   *
   * Below `body`, `args`, `result`, `value` and `json` the path continues into the parsed value.
   * Empty for the console and for files, which `seq` names.
   */
  readonly path: string
  readonly snippet: string
  readonly start: number
  readonly length: number
}

export type SearchField =
  | 'title'
  | 'error'
  | 'message'
  | 'answer'
  | 'args'
  | 'result'
  | 'request'
  | 'response'
  | 'headers'
  | 'console'
  | 'file'
  | 'scope'
  | 'state'

/** Sent while the search runs. The last message has `done`. */
export interface SearchProgress {
  readonly hits: readonly SearchHit[]
  readonly searched: number
  readonly total: number
  readonly done: boolean
  readonly cut: boolean
  /** In the last message: number of steps that could not be read because the tape is damaged. */
  readonly unread?: number
}

export interface SourceExcerpt {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly firstLine: number
  readonly lines: readonly string[]
  /** Set if today's file differs, so that these are the recorded lines: number of changed files. */
  readonly changedFiles?: number
  readonly isDeleted?: boolean
  /** True if today's file is shown and was saved after the run began: the lines may differ. */
  readonly savedSince?: boolean
}

export interface UnreadableRun {
  readonly id: string
  readonly error: Explained
}

export interface Explained {
  readonly code: string
  readonly what: string
  readonly why?: string
  readonly fix?: string
}

/** Everything about a run that is small and does not need a body. */
export interface RunHead {
  readonly id: string
  readonly name: string
  readonly startedAt: number
  readonly durationMs: number
  readonly status: RunStatus
  readonly exit?: {
    readonly code?: number
    readonly signal?: string
    readonly error?: RecordedError
  }
  /** Label of the row with the error that ended it: the step that failed with it, or `CRASH_LABEL`. */
  readonly exitStep?: string
  readonly node: string
  readonly parent?: ParentLink
  readonly branch?: BranchDetails
  /** A Node program, a command in any language, a call of `record()`, or an imported trace. */
  readonly recorded?: 'program' | 'command' | 'function' | 'import'
  readonly command: readonly string[]
  readonly cwd?: string
  readonly platform?: string
  readonly events: number
  readonly counts: Readonly<Partial<Record<TapeEvent['type'], number>>>
  /** Number of steps without inferred ones, which are known only when all rows are read. */
  readonly recordedSteps: number
  readonly lanes: readonly LaneHead[]
  readonly notCaptured: readonly NotCaptured[]
  /** Ignored bytes after the last valid event. */
  readonly tornBytes: number
  /** Set if only the part of a damaged tape before this event is shown. */
  readonly damage?: { readonly event: number; readonly why: string }
  readonly redacted?: boolean
}

/** Concurrent work, or a sub-agent. Lane 0 is the run itself. */
export interface LaneHead {
  readonly id: number
  readonly parent?: number
  readonly depth: number
  /** The agent, node or task of its steps, if an adapter named it. */
  readonly name?: string
  /** Number of recorded steps, without those of nested lanes. */
  readonly steps?: number
  /** Start of its first step and end of its last, in milliseconds since the run started. */
  readonly from?: number
  readonly to?: number
}
