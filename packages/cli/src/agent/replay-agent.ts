import type { StdioOptions } from 'node:child_process'
import {
  type Divergence,
  type MovedRoot,
  movedTape,
  type ProcessTask,
  type ReplayReport,
  TASK_VARIABLE,
  withSurroundings,
} from '@retake/engine'
import { hasReadsOnly, type Preload, type RunDetails, type Tape } from '@retake/tape'
import { Interrupted } from '../command-line/exit-codes.js'
import { type AgentProcess, hasTypeScriptLoader, preloadFlags, runAgent } from './agent-process.js'
import { cliErrors } from '../errors.js'
import type { Isolation } from './run-in-sandbox.js'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { duration, plural } from '@retake/tape/present'
import { divergenceReport } from './divergence.js'
import { movedHere } from './source-code.js'
import { type Look, printable } from '../terminal/terminal.js'
import { viewRun } from '../runs/view-run.js'
import { tmpdir } from 'node:os'
import { project } from '../config/define-config.js'
import { throwFailure } from './record-agent.js'
import { requireTrust } from './trust.js'

/** More differences than this are only counted; `--json` has all of them. */
const SHOWN_MAX = 20

/**
 * Describes the result of a replay: each divergence in full, or one line that
 * nothing differs. `fix` replaces the advice if the caller knows better what to do.
 */
export function replayReceipt(
  tape: Tape,
  replayed: Replayed,
  look: Look,
  fix?: readonly string[],
): string[] {
  const { divergences, cutOff, placeholders } = replayed
  const { paint } = look
  if (divergences.length === 0) {
    const facts = receiptFacts(tape, replayed).join(' · ')
    return [
      `${paint('green', 'identical')} · ${facts}`,
      ...(cutOff ? cutOffLines(tape, look) : []),
      `digest ${tape.digest}`,
    ]
  }
  const options = { ...(fix && { fix }), ...(placeholders && { placeholders }) }
  const reports = divergences
    .slice(0, SHOWN_MAX)
    .flatMap((divergence, index) => [
      ...(index > 0 ? [''] : []),
      ...divergenceReport(tape, divergence, look, options),
    ])
  const more = divergences.length - SHOWN_MAX
  return [
    ...reports,
    ...(more > 0 ? ['', `and ${plural(more, 'more difference')}; --json has all of them`] : []),
    ...(tape.run.node === process.version || tape.details.command !== undefined
      ? []
      : [`  note recorded with Node ${tape.run.node}, replayed with ${process.version}`]),
  ]
}

/** How much was compared, and what it took. */
function receiptFacts(tape: Tape, { events, served, contacts, wallMs }: Replayed): string[] {
  const sockets = Object.values(contacts).reduce((sum, count) => sum + count, 0)
  return [
    `${events} of ${events} events`,
    `${served} served`,
    plural(sockets, 'socket'),
    `${duration(wallMs)} (recorded ${duration(tape.event(tape.count - 1).at)})`,
  ]
}

/** The run was killed: what it had begun by then may or may not have had its effect. */
function cutOffLines(tape: Tape, { paint }: Look): string[] {
  const { exit, recordedSteps } = viewRun(tape)
  const inDoubt = recordedSteps.filter(({ state }) => state === 'in doubt')
  const how =
    exit?.signal === undefined ? 'the run was killed' : `the run was killed by ${exit.signal}`
  return [
    `${paint('yellow', 'cut off')} · the recording ends there: ${how}`,
    ...inDoubt.map((step) => `  in doubt: step ${step.label} ${printable(step.title)}`),
  ]
}

export interface ReplayOptions {
  readonly observe?: boolean
  readonly pace?: boolean
  readonly nodeArgs?: readonly string[]
  readonly stdio?: StdioOptions
  readonly onOutput?: (chunk: Buffer) => void
  /** Replays in a copy of the recorded folder; what is reported names the recorded one. */
  readonly root?: MovedRoot
  /** Killed after this: `REPLAY_WITHOUT_REPORT`. */
  readonly timeoutMs?: number
}

export interface Replayed extends Omit<ReplayReport, 'divergences'> {
  readonly divergences: readonly Divergence[]
  /** Set when a signal ended the replayed process. */
  readonly signal?: NodeJS.Signals
  /** Variables the program read and got a placeholder for. */
  readonly placeholders?: readonly string[]
  /** For commands only: how the replay was isolated. */
  readonly isolation?: Isolation
  /** For commands only: hosts reached while recording but not recorded, and refused now. */
  readonly notRecorded?: readonly string[]
}

/** Runs the recorded program again, served from its tape; in another checkout, the program that is here. */
export async function replayAgent(tape: Tape, options: ReplayOptions = {}): Promise<Replayed> {
  const command = replayCommand(tape, options)
  try {
    const end = await runAgent({
      ...command.start,
      stdio: options.stdio ?? ['ignore', 'inherit', 'inherit'],
      ...(options.onOutput && { onOutput: options.onOutput }),
      ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    })
    const report = command.report()
    if (report !== undefined)
      return {
        ...withLocalSites(report as Replayed, options.root ? undefined : movedHere(tape)),
        ...(end.signal && { signal: end.signal }),
      }
    if (end.interruptedBy) throw new Interrupted(end.interruptedBy)
    throw cliErrors.REPLAY_WITHOUT_REPORT(
      end.signal ? `was killed by ${end.signal}` : `exited with code ${end.code}`,
    )
  } finally {
    command.remove()
  }
}

/** Reports name the recorded folder; call sites must name the current one. */
function withLocalSites(replayed: Replayed, root: MovedRoot | undefined): Replayed {
  if (root === undefined) return replayed
  const divergences = replayed.divergences.map((divergence) =>
    divergence.site === undefined
      ? divergence
      : { ...divergence, site: divergence.site.replace(root.recorded, root.current) },
  )
  return { ...replayed, divergences }
}

interface ReplayCommandOptions {
  readonly observe?: boolean
  readonly pace?: boolean
  readonly nodeArgs?: readonly string[]
  /** Descriptor of the pipe through which the process is looked into. */
  readonly inspectFd?: number
  /** Replays in a copy of the recorded folder; what is reported names the recorded one. Default: this checkout, if the folder is gone. */
  readonly root?: MovedRoot
}

/** How to start the recorded program again, served from its tape; `remove` when it has ended. */
interface ReplayCommand {
  readonly start: Omit<AgentProcess, 'stdio' | 'onOutput'>
  /** Throws what stopped Retake itself; undefined when the process ended without a report. */
  report(): ReplayReport | undefined
  remove(): void
}

export function replayCommand(tape: Tape, options: ReplayCommandOptions = {}): ReplayCommand {
  const root = options.root ?? movedHere(tape)
  const start = startOf(tape, root)
  // Resolved, because the permission to write is given for the real path.
  const temporary = mkdtempSync(path.join(realpathSync(tmpdir()), 'retake-'))
  const report = path.join(temporary, 'report.json')
  const failure = path.join(temporary, 'failure.json')
  const isInspected = options.inspectFd !== undefined
  const retakeFlags = [...permissionFlags(temporary, start, isInspected), ...preloadFlags(start)]
  const task: ProcessTask = {
    mode: 'replay',
    tape: path.resolve(tape.path),
    observe: options.observe ?? false,
    pace: options.pace ? 'recorded' : 'full',
    report,
    failure,
    flagCount: retakeFlags.length,
    pureAddons: project().pureAddons,
    ...(options.inspectFd !== undefined && { inspect: { fd: options.inspectFd } }),
    ...(root && { root }),
  }
  return {
    start: {
      ...start,
      retakeFlags,
      ownNodeArgs: options.nodeArgs ?? [],
      env: {
        ...start.env,
        ...loaderEnvironment(temporary, start),
        [TASK_VARIABLE]: JSON.stringify(task),
      },
    },
    report: () => {
      throwFailure(failure)
      return readReport(report, root)
    },
    remove: () => rmSync(temporary, { recursive: true, force: true }),
  }
}

interface Start {
  readonly entry: string
  readonly args: readonly string[]
  readonly cwd: string
  /** The environment of the program. It contains current secrets: see `ServedEnvironment`. */
  readonly env: NodeJS.ProcessEnv
  readonly nodeArgs: readonly string[]
  readonly preloads?: readonly Preload[]
}

/** Advice about steps and branches does not apply to a run that was recorded through the proxy. */
export function refuseProxyRun({ run, details }: Tape): void {
  if (details.proxy !== undefined) throw cliErrors.NOT_A_NODE_RUN(run.id, details.command)
}

/** How the recorded program was started, if it can and may be started that way again. */
export function startOf(tape: Tape, root?: MovedRoot): Start {
  const { details } = root ? movedTape(tape, root) : tape
  const { entry, args = [], cwd, execArgv = [], preloads } = details
  refuseProxyRun(tape)
  if (entry === undefined || cwd === undefined) throw cliErrors.NOT_A_PROCESS_RUN(tape.run.id)
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw cliErrors.RECORDED_FOLDER_MISSING(cwd)
  if (!statSync(path.resolve(cwd, entry), { throwIfNoEntry: false })?.isFile())
    throw cliErrors.RECORDED_AGENT_MISSING(entry, cwd)
  requireTrust(tape)
  const nodeArgs = execArgv.filter((flag) => !isMissingEnvFile(flag, cwd))
  const env = environmentFor(tape, details)
  return { entry, args, cwd, env, nodeArgs, ...(preloads && { preloads }) }
}

function environmentFor(tape: Tape, { env }: RunDetails): NodeJS.ProcessEnv {
  if (env === undefined) return process.env
  return hasReadsOnly(tape.run) ? withSurroundings(process.env, env) : env
}

/** Node would refuse to start without the file, and its variables are on the tape. */
function isMissingEnvFile(flag: string, cwd: string): boolean {
  const file = /^--env-file(?:-if-exists)?=(.*)$/s.exec(flag)?.[1]
  return file !== undefined && !existsSync(path.resolve(cwd, file))
}

/**
 * A second guard below the engine, where Node has one: the replayed process may
 * read and compute, but write only its report, start nothing, and on newer
 * Nodes reach no network. Nodes that cannot allow the inspector under this guard
 * are looked into without it: the engine's own guard stays. A TypeScript loader of the
 * user's own may start its compiler.
 */
export function permissionFlags(
  writable: string,
  { nodeArgs, env }: Pick<AgentProcess, 'nodeArgs' | 'env'>,
  isInspected = false,
): string[] {
  const known = process.allowedNodeEnvironmentFlags
  if (!known.has('--permission')) return []
  if (isInspected && !known.has('--allow-inspector')) return []
  return [
    '--permission',
    '--allow-fs-read=*',
    `--allow-fs-write=${writable}`,
    '--allow-worker',
    '--allow-addons',
    '--allow-wasi',
    ...(hasTypeScriptLoader(nodeArgs, env) ? ['--allow-child-process'] : []),
    ...(isInspected ? ['--allow-inspector'] : []),
    // Otherwise Node warns about the flags above on the agent's stderr.
    '--disable-warning=SecurityWarning',
  ]
}

/**
 * A TypeScript loader of the user's own caches what it compiles where temporary files go. The
 * engine restores the recorded values of these variables before the agent starts.
 */
export function loaderEnvironment(
  writable: string,
  { nodeArgs, env }: Pick<AgentProcess, 'nodeArgs' | 'env'>,
): NodeJS.ProcessEnv {
  if (!hasTypeScriptLoader(nodeArgs, env)) return {}
  return { TMPDIR: writable, TEMP: writable, TMP: writable }
}

function readReport(file: string, root?: MovedRoot): ReplayReport | undefined {
  try {
    const text = readFileSync(file, 'utf8')
    const moved = root ? text.replaceAll(root.current, root.recorded) : text
    return JSON.parse(moved) as ReplayReport
  } catch {
    return undefined
  }
}
