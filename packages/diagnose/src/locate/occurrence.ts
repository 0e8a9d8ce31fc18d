/** A match with what stands around it. */
export interface MatchExcerpt {
  readonly before: string
  readonly match: string
  readonly after: string
}

/**
 * What kind of thing holds a value. `answer` and `request` are those of model
 * and HTTP steps; `mcp` a message to or from an MCP server on stdio; `connection`
 * is a socket whose bytes are not HTTP.
 */
export type SourceKind =
  | 'environment'
  | 'arguments'
  | 'draw'
  | 'file'
  | 'input'
  | 'tool'
  | 'mcp'
  | 'process'
  | 'worker'
  | 'dns'
  | 'database'
  | 'connection'
  | 'request'
  | 'answer'
  | 'output'
  | 'mark'
  | 'outcome'

/** One location on the tape where a value stands. */
export interface Occurrence {
  /** Event that carries it; where it came in pieces, the one that completed it. */
  readonly seq: number
  /** Milliseconds since the run started. */
  readonly at: number
  /** `in`: it reached the agent. `out`: the agent sent, wrote or printed it. */
  readonly direction: 'in' | 'out'
  readonly source: SourceKind
  /** Which one: a file, a tool, a model, a URL, a variable, `stdout`. */
  readonly name: string
  /** Label of the step it belongs to. */
  readonly step?: string
  /** Label of the last step begun before it, when it belongs to none. */
  readonly after?: string
  /** Where in a JSON value. */
  readonly path?: string
  /** Where in bytes, when they are no JSON; counted over the whole file, body or stream. */
  readonly offset?: number
  readonly excerpt: MatchExcerpt
  /** How often it stands there. */
  readonly count: number
  /** Where in the agent's code, as `file:line:column`. */
  readonly site?: string
  /** The tool, seen only in the conversation, whose result this is. */
  readonly via?: { readonly step: string; readonly tool: string }
  /** The same text was sent with an earlier request: it is history of the conversation. */
  readonly carried?: boolean
}

/** A text that was not asked for but comes near. */
export interface NearMiss {
  readonly text: string
  readonly places: number
  readonly first: Occurrence
}

/** Where a value stands in a run, in order. */
export interface Located {
  readonly text: string
  readonly occurrences: readonly Occurrence[]
  /** How many of `occurrences`, from the first, are deliveries the value came from. None: the agent's code made it. */
  readonly origins: number
  /** Looked for only when there is no occurrence. */
  readonly nearMisses: readonly NearMiss[]
}
