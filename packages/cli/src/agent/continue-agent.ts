import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { StdioOptions } from 'node:child_process'
import {
  type ContinuePlan,
  type ContinueReport,
  type Divergence,
  holdsSecret,
  isSurrounding,
  type ProcessTask,
  TASK_VARIABLE,
  trustedRunsFile,
  withSurroundings,
} from '@retake/engine'
import { environmentOnTape, holdsReadsOnly, type Tape } from '@retake/tape'
import { openOwnTape, TapeWriter } from '@retake/tape/node'
import { project } from '../config/project.js'
import { type AgentEnd, handedOver, Interrupted, preloadFlags, runAgent } from './agent-process.js'
import { cliErrors } from '../errors.js'
import { throwFailure } from './record-agent.js'
import { markRecording } from '../runs/run-store.js'
import { startOf } from './replay-command.js'
import { trustInThisProcess } from './trust.js'

export interface ContinueOptions {
  readonly nodeArgs?: readonly string[]
  /** Variables that differ from the recorded ones. */
  readonly env?: Readonly<Record<string, string>>
  readonly stdio?: StdioOptions
  readonly onOutput?: (chunk: Buffer) => void
  /** Stops the process; what it recorded stays. */
  readonly stopped?: AbortSignal
}

/** What a process came to that was served from a tape first and live after. */
export interface Continued extends Omit<ContinueReport, 'divergences' | 'left'>, AgentEnd {
  readonly divergences: readonly Divergence[]
  readonly left?: Divergence
  /** Tape that holds the run now; the one that was served, when nothing was recorded. */
  readonly tape: string
}

/** Runs the recorded program again as the plan says. The recorded secrets are placeholders: the real ones come from here. */
export async function continueAgent(
  tape: Tape,
  plan: ContinuePlan,
  options: ContinueOptions = {},
): Promise<Continued> {
  const { env: _env, ...start } = startOf(tape)
  const surroundings = liveEnvironment(tape, options.env ?? {}, plan)
  const target = plan.branch?.path ?? plan.source
  const unmark = markRecording(target)
  const temporary = mkdtempSync(path.join(tmpdir(), 'retake-'))
  try {
    const retakeFlags = preloadFlags({ ...start, env: surroundings })
    const report = path.join(temporary, 'report.json')
    const failure = path.join(temporary, 'failure.json')
    const task: ProcessTask = {
      mode: 'continue',
      plan,
      report,
      failure,
      // The forks of a search for causes are thrown away.
      ...(plan.kept === undefined && { trustedRuns: trustedRunsFile() }),
      flagCount: retakeFlags.length,
      pureAddons: project().pureAddons,
    }
    const end = await runAgent({
      ...start,
      retakeFlags,
      ownNodeArgs: options.nodeArgs ?? [],
      env: { ...surroundings, [TASK_VARIABLE]: handedOver(task, temporary) },
      stdio: options.stdio ?? 'inherit',
      ...(options.onOutput && { onOutput: options.onOutput }),
      ...(options.stopped && { stopped: options.stopped }),
    })
    throwFailure(failure)
    if (end.signal && end.signal !== 'SIGKILL') endTape(target, end.signal)
    if (existsSync(target)) trustInThisProcess(openOwnTape(target))
    return { ...readReport(report, end), ...end, tape: target }
  } finally {
    unmark()
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** Throws what `continueAgent` would, before anything runs: no program, no credentials. */
export function checkContinuable(
  tape: Tape,
  plan: ContinuePlan,
  env: Readonly<Record<string, string>> = {},
): void {
  startOf(tape)
  liveEnvironment(tape, env, plan)
}

function readReport(file: string, end: AgentEnd): Omit<Continued, 'tape' | 'code'> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    if (end.interruptedBy) throw new Interrupted(end.interruptedBy)
    throw cliErrors.REPLAY_WITHOUT_REPORT(
      end.signal ? `was killed by ${end.signal}` : `exited with code ${end.code}`,
    )
  }
  return JSON.parse(text) as Omit<Continued, 'tape' | 'code'>
}

/** The agent was stopped before it could finish its tape; this adds how it ended. */
function endTape(file: string, signal: NodeJS.Signals): void {
  // It never went live.
  if (!existsSync(file)) return
  if (openOwnTape(file).status !== 'truncated') return
  const writer = TapeWriter.reopen(file)
  writer.append({ type: 'end', signal })
  writer.seal()
}

/** The recorded environment with the current secrets; variables the run did not read are current. */
function liveEnvironment(
  tape: Tape,
  changes: Readonly<Record<string, string>>,
  plan: ContinuePlan,
): NodeJS.ProcessEnv {
  const { env: recorded = {} } = tape.details
  const env: NodeJS.ProcessEnv = holdsReadsOnly(tape.run)
    ? withSurroundings(process.env, recorded)
    : {}
  const missing: string[] = []
  for (const { name, value: read, isSecret } of environmentOnTape(tape).values()) {
    const value = isSurrounding(name) ? (recorded[name] ?? null) : read
    if (value === null) delete env[name]
    else env[name] = value
    if (value === null || value === '') continue
    if (isSecret !== true && !holdsSecret(name, value)) continue
    const own = changes[name] ?? process.env[name]
    if (own !== undefined) env[name] = own
    else if (IS_KEY.test(name)) missing.push(name)
  }
  // A simulator stands in for those who would ask for them.
  const needsKeys = plan.tail === 'live' && plan.kept?.simulator === undefined
  if (missing.length > 0 && needsKeys) throw cliErrors.CREDENTIALS_MISSING(missing)
  return { ...env, ...changes }
}

/** Variables without which a model cannot be asked. */
const IS_KEY = /api_?key|access_?key|auth_?token/i
