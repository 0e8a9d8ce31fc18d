/** A place in source code; lines and columns count from 1. */
export interface SourceLocation {
  /** Path of the file as the author knows it; a URL when it is no file. */
  readonly file: string
  readonly line: number
  readonly column: number
  /** Found through a source map. TypeScript whose types were only blanked out needs none. */
  readonly mapped: boolean
}
