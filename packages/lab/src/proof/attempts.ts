/**
 * Something that changed code tried although a fix may not do it. The sandbox stops most attempts;
 * the change is rejected for the attempt, also if it did not succeed.
 */
export interface Attempt {
  readonly code: 'WRITE' | 'SPAWN' | 'LISTEN' | 'CONNECT' | 'READ_VARIABLE'
  /** Path, program, address or name of the variable. */
  readonly what: string
}
