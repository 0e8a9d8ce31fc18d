import type {
  HeaderPair,
  McpExchange,
  Message,
  Place,
  RecordedError,
  StepGuard,
  Usage,
} from '@retake/tape'
import type { StepRow } from '@retake/tape/present'

/** Everything about one step, but for what is too large: that is fetched or downloaded on its own. */
export interface StepDetail extends StepRow {
  readonly number: number
  readonly startedAt: number
  readonly timeToFirstChunkMs: number | undefined
  /**
   * Where in the agent's code, as `file:line:column`. Where the call did not record it,
   * the first line of the agent in the stack of `failure`.
   */
  readonly site: string | undefined
  readonly scopes: readonly Place[]
  /** Event of its last delivery: the moment the agent had its answer. */
  readonly answeredSeq: number | undefined
  readonly usage: Usage | undefined
  readonly finishReason: string | undefined
  readonly conversation: Conversation | undefined
  readonly request: RequestDetail | undefined
  readonly response: ResponseDetail | undefined
  readonly call: CallView | undefined
  readonly mcp: McpExchange | undefined
  /** Of a guarded tool: what its guard did with it. */
  readonly guard: StepGuard | undefined
  /** The error as it was recorded, with its stack; of an answer that only says it failed, see `error`. */
  readonly failure: RecordedError | undefined
}

/** What was said to a model and what it said. Long strings in it are clipped. */
export interface Conversation {
  readonly total: number
  /** Place of the first of `messages` in the conversation. There are more behind them when they do not reach `total`. */
  readonly from: number
  readonly messages: readonly Message[]
  /**
   * Place of the first message that no earlier step of this conversation had, sent or
   * answered; 0 when no earlier step belongs to it, `total` when nothing is new.
   */
  readonly newFrom: number
  /** Label of the step that had the messages before it. */
  readonly seenIn?: string
  readonly answer: readonly Message[]
}

export interface RequestDetail {
  readonly method: string
  readonly url: string
  readonly headers: readonly HeaderPair[]
  readonly body: BodyView
}

export interface ResponseDetail {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly HeaderPair[]
  readonly body: BodyView
  /** Number of pieces it came in. */
  readonly chunks: number
  readonly complete: boolean
  readonly problem: string | undefined
  readonly undecoded: string | undefined
  /** Of a stream: its events, whatever framing they came in. */
  readonly events?: StreamEvents
}

/** Some events of a stream, in order. */
export interface StreamEvents {
  readonly total: number
  /** Place of the first of `events` in the stream; more are asked for with `eventsFrom`. */
  readonly from: number
  readonly events: readonly {
    /** Milliseconds from the start of the step to the piece that completed it. */
    readonly at: number
    readonly event: string
    readonly data: string
    readonly id?: string
    /** `data` is only its beginning. */
    readonly clipped?: boolean
  }[]
}

/** A tool, a child process or a request of MCP. Values are plain JSON with long strings clipped. */
export interface CallView {
  readonly name: string
  readonly args: unknown
  readonly result: unknown
  readonly error: RecordedError | undefined
  /** What a process printed, up to a limit, as it came. */
  readonly output: readonly {
    readonly at: number
    readonly pipe: number
    readonly text: string
    /** Some of its bytes are no UTF-8; a replacement character stands for each. */
    readonly isLossy?: boolean
  }[]
  /** Bytes the process printed, when there is more than `output` shows. */
  readonly outputBytes?: number
}

/** A body as it is shown. The bytes are had by `bodyBytes`. */
export interface BodyView {
  readonly bytes: number
  readonly form: 'json' | 'text' | 'binary' | 'empty'
  /** Of `json` and `text`, up to a limit; of `binary`, nothing. */
  readonly text: string
  readonly clipped: boolean
}

/** Which bytes of a step. */
export const BODY_SIDES = ['request', 'response', 'args', 'result', 'output'] as const
export type BodySide = (typeof BODY_SIDES)[number]

/**
 * Stands in plain JSON for a string that is too long to be shown at once. Of arrays and
 * objects that are too large, the last item `{ "$leftOut": 120 }`, or a last member
 * `"$leftOut": 120`, counts what is not shown. A recorded member of one of these names
 * has one more `$` before it.
 */
export interface Clipped {
  readonly $clipped: { readonly head: string; readonly length: number }
}

/** A streamed answer as it grew. */
export interface StreamFrames {
  /** Milliseconds from the start of the step, and the answer as far as it was known then. */
  readonly frames: readonly { readonly at: number; readonly answer: readonly Message[] }[]
  /** Frames are thinned out in long streams; so many pieces there were. */
  readonly chunks: number
}
