export { MissingParent } from './runs/team-runs.js'
export type { RetakeParts, RunFacts } from './parts.js'
export { listSettings, readSettings, type ListedSetting, type SettingName } from './settings.js'
export { openCore, startServer, type RunningServer, type ServerCore } from './start-server.js'
