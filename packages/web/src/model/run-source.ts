import type { RowMessage } from '@retake/tape/present'
import type { RunBlame } from './run-blame.js'
import type { RunHead } from './run-head.js'
import type { StateView } from './state-view.js'
import type { BodySide, StepDetail, StreamFrames } from './step-detail.js'

/** One run as the viewer reads it: from a server in the local UI, from a worker in the report. */
export interface RunSource {
  head(): Promise<RunHead>
  /** Recorded rows from an index on, then everything that needs all of them. */
  rows(options?: { from?: number; signal?: AbortSignal }): AsyncIterable<RowMessage>
  /**
   * Undefined if there is no such step. `messagesFrom`: more of a long conversation than its
   * end.
   */
  step(label: string, options?: { messagesFrom?: number }): Promise<StepDetail | undefined>
  stream(label: string): Promise<StreamFrames | undefined>
  body(label: string, side: BodySide): Promise<Uint8Array>
  /** Captured variables after the step was answered. */
  state(label: string): Promise<StateView | undefined>
  console(): Promise<readonly ConsolePart[]>
  files(): Promise<readonly FileTouch[]>
  events(from: number, to: number): Promise<readonly EventRow[]>
  event(seq: number): Promise<unknown>
  search(text: string, signal: AbortSignal): AsyncIterable<SearchProgress>
  source(site: string): Promise<SourceExcerpt | undefined>
  /** The result of the last blame search, if any. */
  blame(): Promise<RunBlame | undefined>
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
export type FileAccess = 'read' | 'write' | 'list' | 'remove' | 'look' | 'change' | 'other'

export interface FileTouch {
  readonly seq: number
  readonly at: number
  /** For example `fs.readFile`. */
  readonly call: string
  readonly access: FileAccess
  readonly path: string
  readonly ok: boolean
  readonly error?: string
  /** Read or written, if the tape has it. */
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

export interface SearchHit {
  /** Undefined for the console and for events outside of steps. */
  readonly step: string | undefined
  readonly seq: number
  readonly field: SearchField
  /**
   * Where in the step it is, as a path in the grammar of `retake fork --set`
   * (`parsePath` of `@retake/tape` reads it): keys and indexes with dots between, a key
   * of other characters in quotes. The first key says where to look:
   *
   * - `title`, `error`, `site`, `scopes.0` (its name)
   * - `failure.stack`, `failure.message`, `failure.cause.message`
   * - `messages.3.parts.0.text`, `answer.0.parts.1.args.city`: of the conversation
   * - `args`, `args.city`, `result.rows.2`, `output.4`: of a call
   * - `request.url`, `request.headers.2`, `request.body`, `request.body.order.id`
   * - `response.headers.0`, `response.body`, `response.events.7`
   * - `frames.0.variables.2.json.items.1`: of the captured state
   *
   * Below `body`, `args`, `result`, `value` and `json` it goes on into the parsed value.
   * Empty for the console and for files, which `seq` names.
   */
  readonly path: string
  /** Text around the hit, with the range of the hit. */
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

/** Arrives while the search runs; the last message has `done`. */
export interface SearchProgress {
  readonly hits: readonly SearchHit[]
  readonly searched: number
  readonly total: number
  readonly done: boolean
  /** There are more hits than reported. */
  readonly cut: boolean
  /** At the end: steps that could not be searched because the tape is damaged. */
  readonly unread?: number
}

export interface SourceExcerpt {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly firstLine: number
  readonly lines: readonly string[]
  /** The file was saved after the run began: the lines may differ from those that ran. */
  readonly savedSince?: boolean
}
