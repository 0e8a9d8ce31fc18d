/**
 * Loaded by `node --import` before the agent: opens the session that the command
 * line asks for and makes the whole process one run.
 */
import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { warmUpFetch } from './boundaries/network/fetch.js'
import { install } from './boundaries/install.js'
import { declarePureAddons } from './boundaries/native/addons.js'
import { errors } from './errors.js'
import { loadSimulator } from './kept/load-simulator.js'
import { chaosProcess } from './process/chaos-process.js'
import { continueProcess } from './process/continue-process.js'
import { recordProcess } from './process/record-process.js'
import { replayProcess } from './process/replay-process.js'
import { stopWith } from './process/stop-with.js'
import { TASK_VARIABLE } from './process-task.js'
import type { ProcessTask } from './process-task.js'

if (isMainThread && process.env[TASK_VARIABLE] !== undefined) {
  const task = takeTask()
  // Children that the agent starts with its own `execArgv` must not load this file.
  process.execArgv.splice(process.execArgv.length - task.flagCount)
  declarePureAddons(task.pureAddons ?? [])
  await warmUpFetch()
  try {
    if (task.mode === 'record') recordProcess(task)
    else if (task.mode === 'chaos') chaosProcess(task)
    else if (task.mode === 'continue') continueProcess(task, await loadSimulator(task.plan))
    else replayProcess(task)
  } catch (error) {
    stopWith(error, task.failure)
  }
  install()
}

function takeTask(): ProcessTask {
  const text = process.env[TASK_VARIABLE] ?? ''
  delete process.env[TASK_VARIABLE]
  try {
    return JSON.parse(
      text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text,
    ) as ProcessTask
  } catch (cause) {
    throw errors.sessionFileMissing(cause)
  }
}
