import type { HeaderPair, McpExchange, Message, Place, RecordedError, Usage } from '@retake/tape'
import type { Row } from './step-rows.js'

/** Everything about one step, but for what is too large: that is fetched or downloaded on its own. */
export interface StepDetail extends Row {
  readonly number: number
  readonly startedAt: number
  readonly timeToFirstChunkMs: number | undefined
  /** Where in the agent's code, as `file:line:column`. */
  readonly site: string | undefined
  readonly places: readonly Place[]
  /** Event of its last delivery: the moment the agent had its answer. */
  readonly answeredSeq: number | undefined
  readonly usage: Usage | undefined
  readonly finishReason: string | undefined
  readonly conversation: Conversation | undefined
  readonly request: RequestDetail | undefined
  readonly response: ResponseDetail | undefined
  readonly call: CallView | undefined
  readonly mcp: McpExchange | undefined
  readonly failure: RecordedError | undefined
}

/** What was said to a model and what it said. Long strings in it are clipped. */
export interface Conversation {
  readonly total: number
  /** Place of the first of `messages` in the conversation. */
  readonly from: number
  readonly messages: readonly Message[]
  /** Place of the first message that no earlier step of this conversation had. */
  readonly newFrom: number
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
}

/** A tool, a child process or a request of MCP. Values are plain JSON with long strings clipped. */
export interface CallView {
  readonly name: string
  readonly args: unknown
  readonly result: unknown
  readonly error: RecordedError | undefined
  readonly output: readonly { readonly at: number; readonly pipe: number; readonly text: string }[]
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
export type BodySide = 'request' | 'response' | 'args' | 'result'

/** Stands in plain JSON for a string that is too long to be shown at once. */
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
