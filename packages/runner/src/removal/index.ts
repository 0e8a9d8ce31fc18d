export { collectRuns, printRemoval, type Removal, type RemovalRule } from './collect-runs.js'
export { refusedRuns, removeRuns, type RetainedRun, RunFamily } from './remove-runs.js'
export { RunTrash } from './run-trash.js'
