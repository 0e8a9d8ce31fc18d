import type { RowMessage } from '@retake/tape/present'
import type { RunBlame } from './run-blame.js'
import type { RunHead } from './run-head.js'
import type { BodySide, StepDetail, StreamFrames } from './step-detail.js'
import type { StateView } from './state-view.js'

/**
 * One run, as the viewer asks about it. The local UI answers from a server, the
 * report from a worker that holds the tape; the viewer does not know which.
 */
export interface RunSource {
  head(): Promise<RunHead>
  /** Rows from a place among the recorded steps on, and at the end what needs all of them. */
  rows(options?: { from?: number; signal?: AbortSignal }): AsyncIterable<RowMessage>
  /**
   * Undefined when there is no such step. `messagesFrom`: more of a long conversation than
   * its end. `eventsFrom`: more of a long stream than its beginning.
   */
  step(
    label: string,
    options?: { messagesFrom?: number; eventsFrom?: number },
  ): Promise<StepDetail | undefined>
  stream(label: string): Promise<StreamFrames | undefined>
  body(label: string, side: BodySide): Promise<Uint8Array>
  /** Variables after the step was answered, if they were captured. */
  state(label: string): Promise<StateView | undefined>
  console(): Promise<readonly ConsolePart[]>
  files(): Promise<readonly FileTouch[]>
  events(from: number, to: number): Promise<readonly EventRow[]>
  /** One event whole, with its body as `eventLines` has it, clipped. */
  event(seq: number): Promise<unknown>
  search(text: string, signal: AbortSignal): AsyncIterable<SearchProgress>
  source(site: string): Promise<SourceExcerpt | undefined>
  /** What a search for the causes of its failure came to; undefined when there was none. */
  blame(): Promise<RunBlame | undefined>
  /** One event a line, for downloads. */
  exportJsonl(): Promise<Blob>
}

/** What the agent wrote to its terminal, in order. */
export interface ConsolePart {
  readonly seq: number
  readonly at: number
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
  /** There is more of it than `text` shows. */
  readonly clipped: boolean
  /** Some of its bytes are no UTF-8; a replacement character stands for each. */
  readonly isLossy?: boolean
  /** On a last part without text: so many parts, from this one on, are not shown. */
  readonly leftOut?: number
}

/**
 * What was done to a file. `look`: asked about, such as `stat`. `change`: made, moved,
 * copied, linked or given other rights. `other`: opened, or a call that is not known.
 */
export type FileAccess = 'read' | 'write' | 'list' | 'remove' | 'look' | 'change' | 'other'

/** A file the agent read, wrote, listed or removed. */
export interface FileTouch {
  readonly seq: number
  readonly at: number
  /** For example `fs.readFile`. */
  readonly call: string
  readonly access: FileAccess
  readonly path: string
  /** No error was delivered for it. */
  readonly ok: boolean
  /** Code or message of its error. */
  readonly error?: string
  /** Read or written, where the tape tells. */
  readonly bytes?: number
  /** Label of the last step begun by then. */
  readonly step: string | undefined
}

/** One event of the tape in one line. */
export interface EventRow {
  readonly seq: number
  readonly at: number
  readonly type: string
  readonly text: string
  /** Event it answers. */
  readonly op: number | undefined
  readonly bytes: number
}

/** Where a search found something. */
export interface SearchHit {
  /** Label of the step; undefined for the console and for events that belong to none. */
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
  /** Text around the hit, and where the hit is in it. */
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

/** A search goes on while it is read; the last message has `done`. */
export interface SearchProgress {
  readonly hits: readonly SearchHit[]
  /** Steps looked at so far, of all. */
  readonly searched: number
  readonly total: number
  readonly done: boolean
  /** There are more hits than are reported. */
  readonly cut: boolean
  /** At the end: steps that could not be searched, because the tape is damaged there. */
  readonly unread?: number
}

/** Lines of a source file around a place, as they were or are. */
export interface SourceExcerpt {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly firstLine: number
  readonly lines: readonly string[]
  /** The file was saved after the run began: these may not be the lines that ran. */
  readonly savedSince?: boolean
}
