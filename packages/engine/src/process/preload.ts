/**
 * Loaded by `node --import` before the agent: opens the session that the command line requests and
 * makes the whole process one run.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import vm from 'node:vm'
import { isMainThread } from 'node:worker_threads'
import type { Preload } from '@retake/tape/format'
import { install } from '../boundaries/install.js'
import { declarePureAddons } from '../boundaries/native/addons.js'
import { takeOwnFlags } from '../boundaries/processes/recorded-child.js'
import { errors } from '../errors.js'
import { recordProcess } from './record-process.js'
import type { StartCall } from './start-agent.js'
import { stopWith, writeJson } from './process-exit.js'
import { PRELOADS_VARIABLE, TASK_VARIABLE } from '../plans/process-task.js'
import type {
  CodeModule,
  DeferredPreloads,
  ProcessTask,
  RecordTask,
} from '../plans/process-task.js'

if (isMainThread && process.env[TASK_VARIABLE] !== undefined) {
  const task = takeTask()
  // Children that the agent starts with its own `execArgv` must not load this file.
  takeOwnFlags(task.flagCount)
  declarePureAddons(task.pureAddons ?? [])
  const preloads = takePreloads()
  try {
    const startCall =
      task.mode === 'record' ? recordProcess(await withCode(task), preloads) : await play(task)
    install()
    if (task.watch !== undefined) await import(task.watch)
    await startCall?.()
  } catch (error) {
    stopWith(error, task.failure)
  }
  await loadPreloads(preloads ?? [])
}

/** The code of a child is read here, because only this process knows its working directory. */
async function withCode<T extends RecordTask>(task: T): Promise<T> {
  if (task.startedBy === undefined || task.childCode === undefined) return task
  try {
    const { storeCodeOfChild } = (await import(task.childCode)) as CodeModule
    const code = storeCodeOfChild(path.resolve(task.entry), task.tape)
    return code === undefined ? task : { ...task, code }
  } catch {
    return task
  }
}

/** Imported on demand, because most processes do not need the player. */
async function play(
  task: Exclude<ProcessTask, { readonly mode: 'record' }>,
): Promise<StartCall | undefined> {
  if (task.mode === 'replay') {
    const { replayProcess } = await import('./replay-process.js')
    return replayProcess(task, (report) => writeJson(task.report, report))
  }
  if (task.mode === 'chaos') {
    const { chaosProcess } = await import('./chaos-process.js')
    return chaosProcess(task)
  }
  const { continueProcess } = await import('./continue-process.js')
  const { loadSimulator } = await import('../player/free-answers.js')
  return continueProcess(task, await loadSimulator(task.plan))
}

function takeTask(): ProcessTask {
  const text = process.env[TASK_VARIABLE] ?? ''
  delete process.env[TASK_VARIABLE]
  try {
    return JSON.parse(
      text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text,
    ) as ProcessTask
  } catch (cause) {
    throw errors.SESSION_MISSING(cause)
  }
}

/**
 * Restores the flags that Node was started without, so that agents and their children see them.
 * Undefined in a process that an agent started, where Node has already loaded its modules.
 */
function takePreloads(): readonly Preload[] | undefined {
  const text = process.env[PRELOADS_VARIABLE]
  if (text === undefined) return undefined
  delete process.env[PRELOADS_VARIABLE]
  const { modules, execArgv, nodeOptions } = JSON.parse(text) as DeferredPreloads
  process.execArgv.splice(0, process.execArgv.length, ...execArgv)
  if (nodeOptions !== undefined) process.env['NODE_OPTIONS'] = nodeOptions
  return modules
}

/** Like Node: required modules first, with names resolved from the working directory. */
async function loadPreloads(modules: readonly Preload[]): Promise<void> {
  const base = path.join(process.cwd(), 'preload.mjs')
  const required = modules.filter(({ how }) => how === 'require')
  const imported = modules.filter(({ how }) => how === 'import')
  for (const { name } of required) createRequire(base)(name)
  if (imported.length === 0) return
  // Unlike an `import()` in this file, resolves names as a module in that folder would.
  const load = new vm.Script('(name) => import(name)', {
    filename: base,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }).runInThisContext() as (name: string) => Promise<unknown>
  for (const { name } of imported) await load(name)
}
