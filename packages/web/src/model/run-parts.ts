/** What the agent wrote to its terminal, in order. */
export interface ConsolePart {
  readonly seq: number
  readonly at: number
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
  readonly clipped: boolean
}

/** A file the agent read, wrote, listed or removed. */
export interface FileTouch {
  readonly seq: number
  readonly at: number
  /** For example `fs.readFile`. */
  readonly call: string
  readonly path: string
  readonly ok: boolean
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
  /** Where in the field, as a path of the parsed value; empty when it is text. */
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
  | 'place'
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
}

/** Lines of a source file around a place, as they were or are. */
export interface SourceExcerpt {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly firstLine: number
  readonly lines: readonly string[]
}
