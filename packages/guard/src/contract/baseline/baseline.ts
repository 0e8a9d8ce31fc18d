/** What arguments were like in earlier runs, by tool and path. Plain data: it can be kept in a file. */
export interface Baseline {
  readonly version: 1
  readonly tools: Readonly<Record<string, ToolBaseline>>
  /** Arguments that are not compared, by path or last name, beside those that never are. */
  readonly ignore?: readonly string[]
}

export interface ToolBaseline {
  readonly calls: number
  /** By path, with `[]` for the members of a list: `items[].price`. */
  readonly arguments: Readonly<Record<string, ArgumentBaseline>>
}

/** What is known of one argument. */
export interface ArgumentBaseline {
  /** Calls that had it. */
  readonly calls: number
  /** How often it was of which type. */
  readonly types: Readonly<Record<string, number>>
  readonly numbers?: Spread
  /** Of texts, in characters. */
  readonly lengths?: Spread
  readonly shapes?: readonly string[]
  /** All values there were, when they were few and came again and again. */
  readonly values?: readonly (string | boolean)[]
  /** Hosts of addresses, and domains of mail addresses. */
  readonly hosts?: readonly string[]
}

export interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
}
