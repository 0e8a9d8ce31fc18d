export { localRuns } from './local-runs.js'
export { RunModels } from './runs/run-models.js'

export { serveUntilSignal } from './serve-ui.js'
