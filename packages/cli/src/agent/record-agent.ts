import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import type { StdioOptions } from 'node:child_process'
import type { CallSites } from '@retake/engine'
import { trustedRunsFile } from '@retake/engine/runs'
import { openOwnTape } from '@retake/tape/node'
import { Interrupted } from '../command-line/exit-codes.js'
import { type AgentEnd, takeFromNodeOptions, takePreloads, TaskProcess } from './agent-process.js'
import { cliErrors } from '../errors.js'
import { codeOf } from './source-code.js'
import { markRecording, type RunStore } from '../runs/run-store.js'
import { trustInThisProcess } from './trust.js'
import type { Durability } from '@retake/tape'

export interface AgentRecording extends AgentEnd {
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
  readonly withSites?: boolean
  readonly tags?: readonly string[]
  /** Path of the tape, whose name is the id of the run; a new name in the store unless set. */
  readonly out?: string
  readonly recordsChildren?: boolean
  /** Kind of crash that the tape survives while it is written; `machine` unless set. */
  readonly durability?: Durability
  /** The seal is signed, and receipts can disclose single steps. */
  readonly sign?: boolean
  readonly redact?: readonly string[]
}

export async function recordAgent(options: RecordingOptions): Promise<AgentRecording> {
  const { store, entry, args, nodeArgs = [], databases, strict, withSites = false } = options
  checkEntry(entry)
  const { id, tape } = store.newRun(options.out)
  using _mark = markRecording(tape)
  const env = { ...process.env, ...options.env }
  const preloads = [
    ...takeFromNodeOptions(env['NODE_OPTIONS'] ?? '').preloads,
    ...takePreloads(nodeArgs).preloads,
  ]
  using child = new TaskProcess(
    { entry, args, cwd: process.cwd(), env, nodeArgs, preloads },
    (inside) => ({
      mode: 'record',
      id,
      name: options.name ?? path.basename(entry).replace(/\.[cm]?[jt]s$/, ''),
      tape,
      entry,
      args,
      trustedRuns: trustedRunsFile(),
      ...(withSites && { sites: inside('sites.json') }),
      ...(databases !== undefined && { databases }),
      code: codeOf(path.resolve(entry)),
      ...(options.tags && { tags: options.tags }),
      ...(strict === true && { strict }),
      ...(options.recordsChildren && { recordsChildren: true }),
      ...(options.sign && { sign: true }),
      ...(options.redact && { redact: options.redact }),
      ...(options.durability && { durability: options.durability }),
    }),
  )
  const end = await child.run({ stdio: options.stdio ?? 'inherit', onOutput: options.onOutput })
  if (!existsSync(tape)) throw notStarted(end)
  trustInThisProcess(openOwnTape(tape))
  // An agent that was killed could not write them.
  const sites = withSites && { sites: (child.read('sites.json') ?? []) as CallSites }
  return { ...end, id, tape, ...sites }
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

const COMMANDS: Readonly<Record<string, string>> = {
  '.go': 'go run',
  '.java': 'java',
  '.php': 'php',
  '.pl': 'perl',
  '.py': 'python',
  '.rb': 'ruby',
  '.sh': 'sh',
}
