import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { StdioOptions } from 'node:child_process'
import {
  type CallSites,
  isTrustedRun,
  newRunId,
  type ProcessTask,
  RetakeError,
  TASK_VARIABLE,
  trustedRunsFile,
} from '@retake/engine'
import { openOwnTape, openTape } from '@retake/tape/node'
import { project } from '../config/define-config.js'
import { Interrupted } from '../command-line/exit-codes.js'
import {
  type AgentEnd,
  handedOver,
  preloadFlags,
  runAgent,
  takeFromNodeOptions,
  takePreloads,
} from './agent-process.js'
import { cliErrors } from '../errors.js'
import type { Explained } from '../command-line/print-error.js'
import { codeOf } from './source-code.js'
import { markRecording, RunStore } from '../runs/run-store.js'
import { trustInThisProcess } from './trust.js'
import type { NotCaptured } from '@retake/tape'
import { duration, plural } from '@retake/tape/present'
import { fromHere, type Paint } from '../terminal/terminal.js'
import { notCapturedLines } from './divergence.js'
import { viewRun } from '../runs/view-run.js'

/** A recording in one line, with a line for each problem: cut off, not captured. */
export function recordingLine(
  recording: Recording,
  paint: Paint,
  facts = recordingFacts(recording),
): string {
  const { steps, ms, cutOff, trusted, notCaptured } = facts
  const said = [...exitOf(recording), plural(steps, 'step'), duration(ms), next(recording)]
  const line = `${paint('green', 'recorded')} ${paint('bold', recording.id)} · ${said.join(' · ')}`
  return [
    line,
    ...(cutOff
      ? [`${paint('yellow', 'cut off')} · the tape contains everything up to there, but no end`]
      : []),
    ...(trusted
      ? []
      : [
          `${paint('yellow', 'not trusted')} · ${trustedRunsFile()} cannot be written: replay needs --trust`,
        ]),
    ...notCapturedLines(notCaptured, next(recording)),
  ].join('\n')
}

export function recordingJson(recording: Recording, facts = recordingFacts(recording)): string {
  return JSON.stringify({ ...recording, ...facts })
}

/** The command to look at it; `last` works for the folder that commands look in by themselves. */
const next = ({ tape }: Recording): string =>
  `retake show ${path.dirname(tape) === new RunStore().folder ? 'last' : fromHere(tape)}`

const exitOf = ({ code, signal }: Recording): string[] => {
  if (signal !== undefined) return [`killed by ${signal}`]
  return code === 0 ? [] : [`exit code ${code}`]
}

interface RecordingFacts {
  readonly steps: number
  readonly ms: number
  readonly cutOff: boolean
  /** The run is remembered as recorded on this machine, so it may be started again. */
  readonly trusted: boolean
  readonly notCaptured: readonly NotCaptured[]
}

export function recordingFacts({ tape: file }: Recording): RecordingFacts {
  const tape = openTape(file)
  const view = viewRun(tape)
  return {
    steps: view.recordedSteps.length,
    ms: view.durationMs,
    cutOff: view.status === 'truncated',
    trusted: isTrustedRun(tape),
    notCaptured: view.notCaptured,
  }
}

export interface Recording extends AgentEnd {
  readonly id: string
  readonly tape: string
  readonly sites?: CallSites
}

export interface RecordingOptions {
  readonly store: RunStore
  readonly entry: string
  readonly args: readonly string[]
  readonly name?: string
  readonly nodeArgs?: readonly string[]
  readonly stdio?: StdioOptions
  readonly onOutput?: (chunk: Buffer) => void
  readonly env?: NodeJS.ProcessEnv
  /** Stops a program that starts to listen: its run could not be replayed. */
  readonly strict?: boolean
  /** Folder for copies of the databases that the agent opens; the agent uses the copies. */
  readonly databases?: string
  /** Wants the call sites of values and timers, too. */
  readonly withSites?: boolean
}

/** Runs an agent and records it on a new tape. Throws when Retake itself, not the agent, had to stop. */
export async function recordAgent(options: RecordingOptions): Promise<Recording> {
  const { store, entry, args } = options
  checkEntry(entry)
  store.prepare()
  const id = newRunId()
  const tape = store.pathOf(id)
  const unmark = markRecording(tape)
  const temporary = mkdtempSync(path.join(tmpdir(), 'retake-'))
  try {
    const env = { ...process.env, ...options.env }
    const nodeArgs = options.nodeArgs ?? []
    const retakeFlags = preloadFlags({ entry, nodeArgs, env })
    const failure = path.join(temporary, 'failure.json')
    const sites = options.withSites ? path.join(temporary, 'sites.json') : undefined
    const task: ProcessTask = {
      mode: 'record',
      id,
      name: options.name ?? path.basename(entry).replace(/\.[cm]?[jt]s$/, ''),
      tape,
      entry,
      args,
      failure,
      trustedRuns: trustedRunsFile(),
      ...(sites !== undefined && { sites }),
      ...(options.databases !== undefined && { databases: options.databases }),
      code: codeOf(path.resolve(entry)),
      ...(options.strict === true && { strict: true }),
      flagCount: retakeFlags.length,
      pureAddons: project().pureAddons,
    }
    const end = await runAgent({
      retakeFlags,
      nodeArgs,
      preloads: [
        ...takeFromNodeOptions(env['NODE_OPTIONS'] ?? '').preloads,
        ...takePreloads(nodeArgs).preloads,
      ],
      entry,
      args,
      cwd: process.cwd(),
      env: { ...env, [TASK_VARIABLE]: handedOver(task, temporary) },
      stdio: options.stdio ?? 'inherit',
      ...(options.onOutput && { onOutput: options.onOutput }),
    })
    throwFailure(failure)
    if (!existsSync(tape)) throw notStarted(end)
    trustInThisProcess(openOwnTape(tape))
    return { ...end, id, tape, ...(sites !== undefined && { sites: readSites(sites) }) }
  } finally {
    unmark()
    rmSync(temporary, { recursive: true, force: true })
  }
}

function readSites(file: string): CallSites {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as CallSites
  } catch {
    // The agent was killed before it could write the file.
    return []
  }
}

/** The process ended before the agent began: interrupted, or refused by Node itself. */
function notStarted({ code, signal, interruptedBy }: AgentEnd): Error {
  if (interruptedBy) return new Interrupted(interruptedBy)
  return cliErrors.NOTHING_RECORDED(
    signal ? `was killed by ${signal}` : `ended with exit code ${code}`,
  )
}

function checkEntry(entry: string): void {
  const found = statSync(entry, { throwIfNoEntry: false })
  if (found === undefined) throw cliErrors.AGENT_MISSING(entry, process.cwd())
  if (found.isDirectory()) throw cliErrors.AGENT_NOT_A_FILE(entry)
  const command = COMMANDS[path.extname(entry)]
  if (command !== undefined) throw cliErrors.AGENT_NOT_JAVASCRIPT(entry, command)
}

/** Commands for programs that Node cannot run. */
const COMMANDS: Readonly<Record<string, string>> = {
  '.go': 'go run',
  '.java': 'java',
  '.php': 'php',
  '.pl': 'perl',
  '.py': 'python',
  '.rb': 'ruby',
  '.sh': 'sh',
}

/** Throws the error that stopped Retake inside the agent's process, if there was one. */
export function throwFailure(file: string): void {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return
  }
  const { code, what, why, fix } = JSON.parse(text) as Explained
  throw new RetakeError(code, what, why, fix)
}
