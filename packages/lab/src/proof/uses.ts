/**
 * Something that changed code tried although a fix may not do it. The sandbox stops most attempts;
 * the change is rejected for the attempt, also if it did not succeed.
 */
export interface Attempt {
  readonly code: 'WRITE' | 'WRITE_PROTECTED' | 'SPAWN' | 'LISTEN' | 'CONNECT' | 'READ_VARIABLE'
  /** Path, program, address or name of the variable. */
  readonly what: string
}

/** Something that a trial used, whichever code did it. */
export interface Use {
  readonly code: Exclude<Attempt['code'], 'WRITE_PROTECTED'>
  /** As `Attempt.what`; paths are absolute. */
  readonly what: string
  /** Set for a variable without a value. */
  readonly isUnset?: true
  /** Lines of the project on the stack, nearest first, as `path:line:column`. */
  readonly sites: readonly string[]
  /** Whose code is nearest, apart from Node and Retake. */
  readonly nearest?: 'agent' | 'package' | undefined
}

/** `what` of a program that lists all variables. */
export const ALL_VARIABLES = '*'
