/**
 * Names, folders and trust of runs, and the variables that hand a task to an agent process. For
 * the command line, which starts such processes: nothing here loads the recorder.
 */
export { isSurrounding, loadsCode, withSurroundings } from './environment.js'
export { PRELOADS_VARIABLE, TASK_VARIABLE } from './process-task.js'
export { isTag, newRunId, RUN_FILE } from './run-id.js'
export { prepareRunsFolder } from './runs-folder.js'
export { isTrustedRun, trustRecording, trustRun, trustedRunsFile } from './trusted-runs.js'
