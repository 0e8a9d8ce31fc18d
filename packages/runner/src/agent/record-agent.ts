import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import type { StdioOptions } from 'node:child_process'
import type { CallSites, ProcessTask } from '@retake/engine'
import { trustedRunsFile } from '@retake/engine/runs'
import { openOwnTape } from '@retake/tape/node'
import { Interrupted } from '../terminal/exit-codes.js'
import { type AgentEnd, takeFromNodeOptions, takePreloads, TaskProcess } from './agent-process.js'
import { cliErrors } from '../errors.js'
import { openDemoModel } from './scripted-model.js'
import { storeCode } from '../sources/store-code.js'
import { markRecording, type RunStore } from '../runs/run-store.js'
import { runnerEntry } from '../package-root.js'
import { trustInThisProcess } from './trust.js'

export interface AgentRecording extends AgentEnd {
  readonly id: string
  readonly tape: string
  readonly sites?: CallSites
}

type RecordTask = Extract<ProcessTask, { readonly mode: 'record' }>

export interface RecordingOptions
  extends
    Pick<RecordTask, 'entry' | 'args' | 'tags' | 'strict' | 'databases' | 'durability' | 'redact'>,
    Pick<RecordTask, 'sign' | 'recordsChildren'>,
    Partial<Pick<RecordTask, 'name'>> {
  readonly store: RunStore
  readonly nodeArgs?: readonly string[]
  readonly stdio?: StdioOptions
  readonly onOutput?: (chunk: Buffer) => void
  readonly env?: NodeJS.ProcessEnv
  readonly withSites?: boolean
  /** Path of the tape, whose file name is the id of the run (default: a new name in the store). */
  readonly out?: string
}

export async function recordAgent({
  store,
  nodeArgs = [],
  stdio = 'inherit',
  onOutput,
  env: ownEnv,
  withSites = false,
  out,
  ...task
}: RecordingOptions): Promise<AgentRecording> {
  const { entry, args } = task
  checkEntry(entry, args)
  const { id, tape } = store.newRun(out)
  using _mark = markRecording(tape)
  await using demo = await openDemoModel({
    entry,
    cwd: process.cwd(),
    env: { ...process.env, ...ownEnv },
  })
  const { env } = demo
  const preloads = [
    ...takeFromNodeOptions(env['NODE_OPTIONS'] ?? '').preloads,
    ...takePreloads(nodeArgs).preloads,
  ]
  using child = new TaskProcess(
    { entry, args, cwd: process.cwd(), env, nodeArgs, preloads },
    (inside) => ({
      name: path.basename(entry).replace(/\.[cm]?[jt]s$/, ''),
      ...task,
      mode: 'record',
      id,
      tape,
      trustedRuns: trustedRunsFile(),
      code: storeCode(path.resolve(entry), process.cwd(), path.dirname(tape)),
      ...(task.recordsChildren && { childCode: runnerEntry('store-code').href }),
      ...(withSites && { sites: inside('sites.json') }),
    }),
  )
  const end = await child.run({ stdio, onOutput })
  // The process ended before the agent started: interrupted, or rejected by Node itself.
  if (!existsSync(tape))
    throw end.interruptedBy
      ? new Interrupted(end.interruptedBy)
      : cliErrors.NOTHING_RECORDED(
          end.signal ? `was killed by ${end.signal}` : `ended with exit code ${end.code}`,
        )
  trustInThisProcess(openOwnTape(tape))
  // A killed agent could not write them.
  const sites = withSites && { sites: (child.read('sites.json') ?? []) as CallSites }
  return { ...end, id, tape, ...sites }
}

function checkEntry(entry: string, args: readonly string[]): void {
  const found = statSync(entry, { throwIfNoEntry: false })
  if (found === undefined) {
    const script = /^(?:node|npx|tsx|ts-node)$/.test(entry)
      ? args.find((word) => /\.[cm]?[jt]sx?$/.test(word) && existsSync(word))
      : undefined
    throw cliErrors.AGENT_MISSING(entry, process.cwd(), script)
  }
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
