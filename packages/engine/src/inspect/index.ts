/**
 * Entry point for inspecting replays: probes that halt at events, and timelines that move between
 * them. Not loaded by recorded processes.
 */
export { GLANCE, IN_FULL } from './probe/frame-reader.js'
export { printDescribed } from './probe/describe-value.js'
export { Probe } from './probe/probe.js'
export type { LineHit, WatchedLine, WatchLineOptions } from './probe/line-watch.js'
export type {
  Ended,
  EvaluateOptions,
  Evaluation,
  HaltedAtEvent,
  ProbeEnd,
  ProbeProcess,
} from './probe/probe-thread.js'
export type { StackFrame, Stop, Value } from './probe/stop.js'
export {
  Timeline,
  type MotionLane,
  type MotionOptions,
  type TimelineOptions,
} from './timeline/timeline.js'
export type { Moment, TimelineStep } from './timeline/moments.js'
export type {
  NotFound,
  Position,
  StackLine,
  StoppedPosition,
  TimelineStatus,
  Watched,
} from './timeline/position.js'

/** Loads the player on demand, because nothing else here needs it. */
export const loadReplayProcess = async () =>
  (await import('../process/replay-process.js')).replayProcess
