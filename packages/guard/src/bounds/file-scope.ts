/** Folders a tool may use. A missing list means anywhere, an empty one nowhere. */
export interface FileScope {
  readonly read?: readonly string[]
  readonly write?: readonly string[]
}
