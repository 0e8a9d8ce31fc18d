import { RunView, type ReadOptions } from './run-view.js'
import type { TapeLike } from '../format/tape-like.js'

/**
 * Turns a tape into what people want to see. The command line, the viewer, the
 * exporters, blame and fix all read runs through it, so they agree.
 */
export const readRun = (tape: TapeLike, options: ReadOptions = {}): RunView =>
  new RunView(tape, options)
