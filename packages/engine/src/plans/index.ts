/**
 * Plans for running a tape again, as data, and what a plan needs to know about a tape. For the
 * command line, which passes plans to agent processes: nothing here loads the recorder or the
 * player.
 */
export {
  discardOverlay,
  isOverlay,
  keepOverlay,
  overlayChanges,
} from '../overlay/overlay-changes.js'
export { ambientKind, isFileCall, readsFile, pathsOfCall } from '../player/ambient-inputs.js'
export { callContentKey } from '../player/free-answers.js'
export { findDoubts, lookAtDoubts } from '../player/find-doubts.js'
export { planFork, planOverlay, planPinned, planRerun, planResume } from '../player/make-plan.js'
export { movedTape } from '../player/moved-tape.js'
export { searchableSteps } from '../player/pinned-matcher.js'
export { withToolResults } from '../player/tool-results.js'
