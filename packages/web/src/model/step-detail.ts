import type {
  HeaderPair,
  McpExchange,
  Message,
  FrameworkScope,
  RecordedError,
  StepGuard,
  Usage,
} from '@retake/tape'
import type { StepRow } from '@retake/tape/present'

/** Everything about one step, except for large parts, which are fetched separately. */
export interface StepDetail extends StepRow {
  readonly number: number
  readonly startedAt: number
  readonly timeToFirstChunkMs: number | undefined
  /**
   * `file:line:column` in the agent's code. If the call did not record it, the first line of
   * the agent in the stack of `failure`.
   */
  readonly site: string | undefined
  readonly scopes: readonly FrameworkScope[]
  /** The last delivery: the moment the agent had its answer. */
  readonly answeredSeq: number | undefined
  readonly usage: Usage | undefined
  readonly finishReason: string | undefined
  readonly conversation: Conversation | undefined
  readonly request: RequestDetail | undefined
  readonly response: ResponseDetail | undefined
  readonly call: CallView | undefined
  readonly mcp: McpExchange | undefined
  readonly guard: StepGuard | undefined
  /** With its stack; an answer that only reports a failure has `error`. */
  readonly failure: RecordedError | undefined
}

/** Long strings are clipped. */
export interface Conversation {
  readonly total: number
  /** Index of the first of `messages`. More follow if they do not reach `total`. */
  readonly from: number
  readonly messages: readonly Message[]
  /**
   * Index of the first message that no earlier step of this conversation sent or received; 0
   * if there is no earlier step, `total` if nothing is new.
   */
  readonly newFrom: number
  /** Label of the step that had the earlier messages. */
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
  readonly chunks: number
  readonly complete: boolean
  readonly problem: string | undefined
  readonly undecoded: string | undefined
  /** Events of a stream, in any framing. */
  readonly events?: StreamEvents
}

export interface StreamEvents {
  readonly total: number
  /** Index of the first of `events`; `eventsFrom` requests more. */
  readonly from: number
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
    /** Some bytes are not UTF-8; each is shown as a replacement character. */
    readonly isLossy?: boolean
  }[]
  /** Set if there is more than `output` shows. */
  readonly outputBytes?: number
}

/** The bytes are returned by `body`. */
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
 * Replaces a long string in plain JSON. In large arrays and objects, a last item `{
 * "$leftOut": 120 }` or a last member `"$leftOut": 120` counts the rest. A recorded member
 * with such a name gets one more `$`.
 */
export interface Clipped {
  readonly $clipped: { readonly head: string; readonly length: number }
}

export interface StreamFrames {
  /** Milliseconds from the start of the step, and the answer as of then. */
  readonly frames: readonly { readonly at: number; readonly answer: readonly Message[] }[]
  /** Number of chunks; frames of long streams are thinned out. */
  readonly chunks: number
}
