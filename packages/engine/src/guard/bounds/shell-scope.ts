/** Programs a tool may start. */
export interface ShellScope {
  /**
   * Argument vectors: program, then arguments; `*` fits one argument, `**` at the end any
   * number. Missing: every program; empty: none. A shell is never started by a pattern that does not name it.
   */
  readonly allow?: readonly (readonly string[])[]
}
