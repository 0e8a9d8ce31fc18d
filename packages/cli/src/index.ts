/**
 * The library's front door. Importing it puts Retake between this program and
 * the outside, so import it before the SDKs you use; while no run is active
 * every patched function hands straight on to the native one.
 */
import { install } from '@retake/engine'

export { record, replay, ReplayDiverged, RetakeError, tool } from '@retake/engine'
export type {
  Divergence,
  DivergenceKind,
  Mismatch,
  RecordedRun,
  RecordOptions,
  ReplayFunctionOptions,
  ToolOptions,
} from '@retake/engine'
export { readRun, TapeError } from '@retake/tape'
export type { Exchange, Message, RunTotals, RunView, Step, Tape, TapeEvent } from '@retake/tape'
export { openTape } from '@retake/tape/node'

install()
