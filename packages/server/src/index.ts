export { MissingParent } from './runs/team-runs.js'
export type { ProgramNeeds, RetakeParts, RunFacts } from './edge/parts.js'
export {
  listSettings,
  readSettings,
  type ListedSetting,
  type SettingName,
} from './edge/settings.js'
export {
  openCore,
  startServer,
  type RunningServer,
  type ServerCore,
} from './operate/start-server.js'
export { Worker } from './jobs/worker.js'
export { readWorkerToken } from './storage/server-keys.js'
export { Log } from './edge/log.js'
export { backUp, reindex, restore } from './operate/maintain.js'
export { findProblems, type Problem } from './operate/doctor.js'
