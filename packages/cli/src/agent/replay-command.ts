import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  type MovedRoot,
  movedTape,
  type ProcessTask,
  type ReplayReport,
  TASK_VARIABLE,
  withSurroundings,
} from '@retake/engine'
import { holdsReadsOnly, type Preload, type RunDetails, type Tape } from '@retake/tape'
import { project } from '../config/project.js'
import { type AgentProcess, preloadFlags } from './agent-process.js'
import { cliErrors } from '../errors.js'
import { hasTypeScriptLoader } from './preloads.js'
import { throwFailure } from './record-agent.js'
import { requireTrust } from './trust.js'

export interface ReplayCommandOptions {
  readonly observe?: boolean
  readonly pace?: boolean
  readonly nodeArgs?: readonly string[]
  /** Descriptor of the pipe through which the process is looked into. */
  readonly inspectFd?: number
  /** Replays in a copy of the recorded folder; what is reported names the recorded one. */
  readonly root?: MovedRoot
}

/** How to start the recorded program again, served from its tape; `remove` when it has ended. */
export interface ReplayCommand {
  readonly start: Omit<AgentProcess, 'stdio' | 'onOutput'>
  /** Throws what stopped Retake itself; undefined when the process ended without a report. */
  report(): ReplayReport | undefined
  remove(): void
}

export function replayCommand(tape: Tape, options: ReplayCommandOptions = {}): ReplayCommand {
  const start = startOf(tape, options.root)
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
    ...(options.root && { root: options.root }),
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
      return readReport(report, options.root)
    },
    remove: () => rmSync(temporary, { recursive: true, force: true }),
  }
}

export interface Start {
  readonly entry: string
  readonly args: readonly string[]
  readonly cwd: string
  /** The environment of the program. It holds current secrets: see `ServedEnvironment`. */
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
  return holdsReadsOnly(tape.run) ? withSurroundings(process.env, env) : env
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
    const told = root ? text.replaceAll(root.current, root.recorded) : text
    return JSON.parse(told) as ReplayReport
  } catch {
    return undefined
  }
}
