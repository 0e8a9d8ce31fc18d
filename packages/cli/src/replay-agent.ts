import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { StdioOptions } from 'node:child_process'
import { TASK_VARIABLE } from '@retake/engine'
import type { Divergence, ProcessTask, ReplayReport } from '@retake/engine'
import type { Tape } from '@retake/tape'
import { Interrupted, preloadFlags, runAgent } from './agent-process.js'
import type { AgentEnd } from './agent-process.js'
import {
  notAProcessRun,
  recordedAgentMissing,
  recordedFolderMissing,
  replayWithoutReport,
} from './errors.js'
import { throwFailure } from './record-agent.js'

export interface ReplayOptions {
  readonly observe?: boolean
  readonly pace?: boolean
  readonly nodeArgs?: readonly string[]
  readonly stdio?: StdioOptions
  readonly onOutput?: (chunk: Buffer) => void
}

export interface Replayed extends Omit<ReplayReport, 'divergences'> {
  readonly divergences: readonly Divergence[]
  /** Set when a signal ended the replayed process. */
  readonly signal?: NodeJS.Signals
}

/** Runs the recorded program again, served from its tape. */
export async function replayAgent(tape: Tape, options: ReplayOptions = {}): Promise<Replayed> {
  const { entry, args, cwd, env, nodeArgs } = startOf(tape)
  // Resolved, because the permission to write is given for the real path.
  const temporary = mkdtempSync(path.join(realpathSync(tmpdir()), 'retake-'))
  try {
    const report = path.join(temporary, 'report.json')
    const failure = path.join(temporary, 'failure.json')
    const retakeFlags = [...permissionFlags(temporary), ...preloadFlags(entry)]
    const task: ProcessTask = {
      mode: 'replay',
      tape: path.resolve(tape.path),
      observe: options.observe ?? false,
      pace: options.pace ? 'recorded' : 'full',
      report,
      failure,
      flagCount: retakeFlags.length,
    }
    const end = await runAgent({
      retakeFlags,
      nodeArgs: [...nodeArgs, ...(options.nodeArgs ?? [])],
      entry,
      args,
      cwd,
      env: { ...(env ?? process.env), [TASK_VARIABLE]: JSON.stringify(task) },
      stdio: options.stdio ?? ['ignore', 'inherit', 'inherit'],
      ...(options.onOutput && { onOutput: options.onOutput }),
    })
    throwFailure(failure)
    return readReport(report, end)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

interface Start {
  readonly entry: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>> | undefined
  readonly nodeArgs: readonly string[]
}

/** How the recorded program was started, if it can be started so again. */
function startOf(tape: Tape): Start {
  const { entry, args = [], cwd, env, execArgv = [] } = tape.details
  if (entry === undefined || cwd === undefined) throw notAProcessRun(tape.run.id)
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) throw recordedFolderMissing(cwd)
  if (!statSync(path.resolve(cwd, entry), { throwIfNoEntry: false })?.isFile())
    throw recordedAgentMissing(entry, cwd)
  return { entry, args, cwd, env, nodeArgs: execArgv }
}

/**
 * A second guard below the engine, where Node has one: the replayed process may
 * read and compute, but write only its report, start nothing, and on newer
 * Nodes reach no network.
 */
function permissionFlags(writable: string): string[] {
  if (!process.allowedNodeEnvironmentFlags.has('--permission')) return []
  return [
    '--permission',
    '--allow-fs-read=*',
    `--allow-fs-write=${writable}`,
    '--allow-worker',
    '--allow-addons',
    '--allow-wasi',
    // Otherwise Node warns about the flags above on the agent's stderr.
    '--disable-warning=SecurityWarning',
  ]
}

function readReport(file: string, end: AgentEnd): Replayed {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    if (end.interruptedBy) throw new Interrupted(end.interruptedBy)
    throw replayWithoutReport(
      end.signal ? `was killed by ${end.signal}` : `exited with code ${end.code}`,
    )
  }
  return { ...(JSON.parse(text) as Replayed), ...(end.signal && { signal: end.signal }) }
}
