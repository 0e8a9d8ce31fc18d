import type { Undo } from '../boundaries/patching/patch.js'

/** A library that the boundaries do not cover by themselves, and what Retake does about it. */
export interface Integration {
  /** Its name on npm, or the name of a module of Node. */
  readonly package: string
  /** The versions that are known to work, as npm writes ranges. A test checks the tested ones. */
  readonly versions: string
  /**
   * Called once, in every process that may record, so it only registers what happens when the
   * library is loaded. It may be loaded already.
   */
  install(): Undo
}
