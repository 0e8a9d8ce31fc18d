import { attempt } from '@retake/tape/format'
import type { ExplainedError } from '../terminal/print-error.js'
import { project } from '../config/define-config.js'
import { onStopSignal, Interrupted } from '../terminal/exit-codes.js'
import { type ChildProcess, spawn, type SpawnOptions, type StdioOptions } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isatty } from 'node:tty'
import type { DeferredPreloads, FunctionCall, ProcessTask } from '@retake/engine'
import { RetakeError } from '@retake/engine/errors'
import { PRELOADS_VARIABLE, requireNode, TASK_VARIABLE } from '@retake/engine/runs'
import type { Preload } from '@retake/tape'
import { cliErrors } from '../errors.js'
import { runnerEntry } from '../package-root.js'
import { STRIPPED, stripFiles } from '../typescript/strip-types.js'
import { REQUIRED } from '../typescript/typescript-hooks.js'

/**
 * Modules that only change how other modules are loaded. Node loads them before the run, so that
 * their compiler processes and caches are not recorded.
 */
const LOADER = packageNamed(
  String.raw`tsx|ts-node|tsimp|jiti|sucrase|amaro|esbuild-register|ts-blank-space|@swc-node[\\/]register|@babel[\\/]register|@oxc-node[\\/]core|@esbuild-kit[\\/][\w-]+`,
)
/** Loaders that do not compile TypeScript. */
const HELPER = packageNamed('tsconfig-paths|source-map-support')

function packageNamed(names: string): RegExp {
  return new RegExp(String.raw`(?:^|[\\/]node_modules[\\/])(?:${names})(?:[\\/]|$)`)
}

const FLAGS: Readonly<Record<string, Preload['how']>> = {
  '--import': 'import',
  '--require': 'require',
  '-r': 'require',
}

/** Splits Node flags into those that preload the user's modules, in order, and all others. */
export function takePreloads(flags: readonly string[]): {
  readonly flags: string[]
  readonly preloads: Preload[]
} {
  const rest: string[] = []
  const preloads: Preload[] = []
  for (let index = 0; index < flags.length; index++) {
    const flag = flags[index] ?? ''
    const equals = flag.indexOf('=')
    const isJoined = flag.startsWith('--') && equals > 0
    const how = FLAGS[isJoined ? flag.slice(0, equals) : flag]
    const name = isJoined ? flag.slice(equals + 1) : flags[index + 1]
    if (how === undefined || name === undefined) rest.push(flag)
    else {
      if (!isJoined) index++
      if (LOADER.test(name) || HELPER.test(name)) rest.push(...(isJoined ? [flag] : [flag, name]))
      else preloads.push({ how, name })
    }
  }
  return { flags: rest, preloads }
}

/** True if the user preloads a TypeScript loader, which then compiles the agent. */
export const hasTypeScriptLoader = (
  nodeArgs: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): boolean => loaderFlags(nodeArgs, env).length > 0

/** Names of the flags that load a TypeScript loader of the user's. */
function loaderFlags(
  nodeArgs: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const flags = flagsOf(nodeArgs, env)
  return flags.flatMap((flag, index) => {
    const [, name = flag, value = flags[index + 1] ?? ''] = /^(--[^=]+)=(.*)$/s.exec(flag) ?? []
    return LOADER_FLAGS.has(name) && LOADER.test(value) ? [name] : []
  })
}

const flagsOf = (
  nodeArgs: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): string[] => [...splitOptions(env['NODE_OPTIONS'] ?? ''), ...nodeArgs]

const LOADER_FLAGS = new Set([...Object.keys(FLAGS), '--loader', '--experimental-loader'])

/** `takePreloads` for the text of `NODE_OPTIONS`. */
export function takeFromNodeOptions(text: string): {
  readonly text: string
  readonly preloads: Preload[]
} {
  const { flags, preloads } = takePreloads(splitOptions(text))
  return preloads.length === 0
    ? { text, preloads }
    : { text: flags.map(quoted).join(' '), preloads }
}

/** Splits as Node does: at spaces, except within double quotes, where a backslash escapes. */
function splitOptions(text: string): string[] {
  const words = text.match(/(?:"(?:\\.|[^"\\])*"|[^\s"])+/g) ?? []
  return words.map((word) =>
    word.replaceAll(/"((?:\\.|[^"\\])*)"/g, (_, inside: string) =>
      inside.replaceAll(/\\(.)/g, '$1'),
    ),
  )
}

const quoted = (flag: string): string =>
  /[\s"\\]/.test(flag) ? `"${flag.replaceAll(/["\\]/g, String.raw`\$&`)}"` : flag

/**
 * Warns about `NODE_OPTIONS`: Node also loads these modules into the `retake` command, before any
 * of its code runs, so Retake cannot prevent their effects.
 */
export function ownPreloadLines(options = process.env['NODE_OPTIONS'] ?? ''): string[] {
  const names = takeFromNodeOptions(options)
    .preloads.map(({ name }) => name)
    // Only resolves imports, and without it the command would not find its packages.
    .filter((name) => path.basename(name) !== '.pnp.cjs')
  return names.length === 0
    ? []
    : [
        `NODE_OPTIONS also loaded ${names.join(', ')} into this command, outside of the run. Unset it: the run loads the modules it was recorded with.`,
      ]
}

export interface AgentStart {
  readonly entry: string
  readonly args: readonly string[]
  readonly cwd: string
  /** Contains current secrets: see `ServedEnvironment`. */
  readonly env: NodeJS.ProcessEnv
  readonly nodeArgs: readonly string[]
  /** Modules to load inside the run. Missing if flags load them before the run. */
  readonly preloads?: readonly Preload[]
  /** For a run of `record()`: the function to call instead of running the file. */
  readonly call?: FunctionCall
  /** Absolute paths of the program's source files, if a tape says it. */
  readonly sources?: readonly string[]
}

export interface AgentOptions {
  readonly stdio: StdioOptions
  readonly onOutput?: ((chunk: Buffer) => void) | undefined
  /** Kills the agent after this time (default: no limit). */
  readonly timeoutMs?: number | undefined
  /** Stops the agent: first with a signal, then by killing it. */
  readonly stopped?: AbortSignal | undefined
  /** Replaces how the process is started and ended, for example by a sandbox. */
  readonly launch?: Launch | undefined
}

export interface Launch {
  readonly start: (
    file: string,
    args: readonly string[],
    options: SpawnOptions,
    folder: string,
  ) => ChildProcess
  readonly kill: (child: ChildProcess, signal: NodeJS.Signals) => void
  /** True if the process gets no signals of the terminal, which could end it without what it started. */
  readonly isDetached?: boolean
}

const PLAIN: Launch = { start: spawn, kill: (child, signal) => void child.kill(signal) }

export interface AgentEnd {
  readonly code: number
  readonly signal?: NodeJS.Signals
  /** The signal by which the user stopped this process meanwhile. */
  readonly interruptedBy?: NodeJS.Signals
}

/** Time for the agent to react to a signal that it may have received itself. */
const GRACE_MS = 250
/** Time for the agent to clean up when it is stopped. */
const STOP_MS = 2000

/** Processes that this one has started. */
let started = 0

/**
 * Flags that load Retake and, if the agent needs it, Retake's TypeScript loader. From the second
 * process on, the loader gets stripped files.
 */
function preloadFlags(
  { entry, nodeArgs, env, sources = [] }: AgentStart,
  inside: (name: string) => string,
): string[] {
  const engine = import.meta.resolve('@retake/engine/preload')
  const own = (name: string): string => runnerEntry(name).href
  const isTypeScript = IS_TYPESCRIPT.test(entry)
  const loaders = loaderFlags(nodeArgs, env)
  const isRequired = isTypeScript && loaders.every((flag) => FLAGS[flag] === 'require')
  started += 1
  const files = sources.filter((file) => IS_TYPESCRIPT.test(file))
  let loader = own('typescript-loader')
  if (isTypeScript && loaders.length === 0 && started > 1 && files.length > 0) {
    const stripped = inside('stripped.json')
    writeFileSync(stripped, JSON.stringify(stripFiles(files)), { mode: 0o600 })
    loader += `?${STRIPPED}=${encodeURIComponent(stripped)}`
  }
  const modules =
    loaders.length > 0
      ? [own('user-loader') + (isRequired ? `?${REQUIRED}` : ''), engine]
      : isTypeScript
        ? [loader, engine, ...('registerHooks' in module ? [] : [own('enable-source-maps')])]
        : [engine]
  return modules.map((url) => `--import=${url}`)
}

const IS_TYPESCRIPT = /\.[cm]?ts$/

/** Well below the 128 kB that systems allow for one variable. */
const VARIABLE_LENGTH = 30_000

type OwnTask<T> = T extends ProcessTask
  ? Omit<T, 'failure' | 'flagCount' | 'pureAddons' | 'call'>
  : never

/** Runs an agent under Retake, with a temporary folder for reports. Call `remove` at the end. */
export class TaskProcess {
  readonly #folder: string
  readonly #cwd: string
  readonly #args: readonly string[]
  readonly #env: NodeJS.ProcessEnv

  constructor(
    start: AgentStart,
    /** `inside` returns the path of a file in the folder. The report is `report.json`. */
    taskOf: (inside: (name: string) => string) => OwnTask<ProcessTask>,
    options: {
      /** Flags for this process only; not part of the run. */
      readonly nodeArgs?: readonly string[] | undefined
      /** True if it is served from a tape, so that it may only read and compute. */
      readonly isServed?: boolean
      readonly isInspected?: boolean
    } = {},
  ) {
    requireNode()
    // Resolved, because write permission is granted for the real path.
    this.#folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'retake-'))
    this.#cwd = start.cwd
    const inside = (name: string): string => path.join(this.#folder, name)
    // After all preloads of the user. The agent does not see these flags.
    const retakeFlags = [
      ...(options.isServed ? replayPermissions(this.#folder, start, options.isInspected) : []),
      ...preloadFlags(start, inside),
    ]
    const task: ProcessTask = {
      ...taskOf(inside),
      failure: inside('failure.json'),
      scratch: inside('scratch'),
      flagCount: retakeFlags.length,
      pureAddons: project().pureAddons,
      ...(start.call && { call: start.call }),
    }
    // A large task is passed in a file: a plan may contain a whole conversation or many files.
    let passed = JSON.stringify(task)
    if (passed.length > VARIABLE_LENGTH) {
      const file = path.join(this.#folder, 'task.json')
      writeFileSync(file, passed, { mode: 0o600 })
      passed = `@${file}`
    }
    const { args, env } = nodeCommand(start, [...(options.nodeArgs ?? []), ...retakeFlags])
    this.#args = args
    this.#env = {
      ...env,
      // The user's TypeScript loader caches its output in the temporary folder. The engine restores
      // the recorded values before the agent starts.
      ...(options.isServed &&
        hasTypeScriptLoader(start.nodeArgs, start.env) && {
          TMPDIR: this.#folder,
          TEMP: this.#folder,
          TMP: this.#folder,
        }),
      [TASK_VARIABLE]: passed,
    }
  }

  spawn({ stdio, timeoutMs, launch = PLAIN }: AgentOptions): ChildProcess {
    const options: SpawnOptions = { cwd: this.#cwd, env: this.#env, stdio }
    const child = launch.start(process.execPath, this.#args, options, this.#folder)
    if (timeoutMs !== undefined) {
      // `timeout` of Node would end only the process itself.
      const timer = setTimeout(() => launch.kill(child, 'SIGKILL'), timeoutMs)
      for (const end of ['exit', 'error']) child.once(end, () => clearTimeout(timer))
    }
    return child
  }

  /**
   * Runs the process to its end. Signals to this process are left to the agent, so that it can
   * clean up. Throws errors of Retake itself.
   */
  async run(options: AgentOptions): Promise<AgentEnd> {
    using signals = catchSignals()
    const child = this.spawn(options)
    if (options.onOutput) child.stdout?.on('data', options.onOutput)
    const { launch = PLAIN, stopped } = options
    const kill = (signal: NodeJS.Signals): void => launch.kill(child, signal)
    const ending = waitForEnd(
      child,
      cliErrors.AGENT_NOT_STARTED,
      stopOnAbort(stopped, kill),
      launch,
    )
    signals[Symbol.dispose]()
    const end = await ending
    this.throwFailure()
    return end
  }

  throwFailure(): void {
    const failure = this.read('failure.json') as ExplainedError | undefined
    if (failure) throw new RetakeError(failure.code, failure.what, failure.why, failure.fix)
  }

  /** Reads a file that the process wrote; undefined if it was killed before that. */
  read(name: string, changed: (text: string) => string = (text) => text): unknown {
    const file = path.join(this.#folder, name)
    return attempt(() => JSON.parse(changed(readFileSync(file, 'utf8'))) as unknown)
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  [Symbol.dispose](): void {
    this.remove()
  }
}

/** The reason why a process ended without a report. */
export function missingReport({ code, signal, interruptedBy }: AgentEnd): Error {
  if (interruptedBy) return new Interrupted(interruptedBy)
  return cliErrors.REPLAY_WITHOUT_REPORT(
    signal ? `was killed by ${signal}` : `exited with code ${code}`,
  )
}

/** Arguments and environment, without flags whose modules are loaded inside the run. */
function nodeCommand(
  { nodeArgs, preloads, env, entry, args }: AgentStart,
  ownFlags: readonly string[],
): { readonly args: string[]; readonly env: NodeJS.ProcessEnv } {
  const flags = preloads === undefined ? nodeArgs : takePreloads(nodeArgs).flags
  const all = [...flags, ...ownFlags, entry, ...args]
  if (preloads === undefined) return { args: all, env }
  const { NODE_OPTIONS: nodeOptions, ...others } = env
  const handedOn: DeferredPreloads = {
    modules: preloads,
    execArgv: nodeArgs,
    ...(nodeOptions !== undefined && { nodeOptions }),
  }
  const rest = takeFromNodeOptions(nodeOptions ?? '').text
  return {
    args: all,
    env: {
      ...others,
      ...(rest !== '' && { NODE_OPTIONS: rest }),
      [PRELOADS_VARIABLE]: JSON.stringify(handedOn),
    },
  }
}

/**
 * A second line of defence below the engine, if Node supports it: the replayed process may read and
 * compute, but write only its report, start no process, and on newer versions of Node use no
 * network. Versions that cannot combine this with the inspector inspect without it. A TypeScript
 * loader of the user may start its compiler. Yarn Plug'n'Play cannot start under permissions,
 * because its loader calls `process.binding`; then the boundaries are the only lock.
 */
export function replayPermissions(
  writable: string,
  start: Pick<AgentStart, 'nodeArgs' | 'env'>,
  isInspected = false,
): string[] {
  const known = process.allowedNodeEnvironmentFlags
  if (!known.has('--permission')) return []
  if (isInspected && !known.has('--allow-inspector')) return []
  if (flagsOf(start.nodeArgs, start.env).some((flag) => flag.includes('.pnp.loader.mjs'))) return []
  return [
    '--permission',
    '--allow-fs-read=*',
    `--allow-fs-write=${writable}`,
    '--allow-worker',
    '--allow-addons',
    '--allow-wasi',
    ...(hasTypeScriptLoader(start.nodeArgs, start.env) ? ['--allow-child-process'] : []),
    ...(isInspected ? ['--allow-inspector'] : []),
    // Otherwise Node warns about the flags above on the agent's stderr.
    '--disable-warning=SecurityWarning',
  ]
}

/** Lets signals wait, while a process starts, for `waitForEnd`: they are reported after this turn. */
export const catchSignals = (): Disposable => ({ [Symbol.dispose]: onStopSignal(() => {}) })

/** Waits for a process to end and forwards signals to it; then calls `release`. */
export function waitForEnd(
  child: ChildProcess,
  notStarted: (cause: unknown) => Error,
  release: () => void,
  { kill, isDetached = false }: Pick<Launch, 'kill' | 'isDetached'> = PLAIN,
): Promise<AgentEnd> {
  let interruptedBy: NodeJS.Signals | undefined
  const stopForwarding = forwardSignals(isDetached, (signal) => {
    interruptedBy = signal
    return (): void => kill(child, signal)
  })
  return new Promise((resolve, reject) => {
    child.on('error', (cause) => {
      stopForwarding()
      release()
      reject(notStarted(cause))
    })
    child.on('close', (code, signal) => {
      stopForwarding()
      release()
      resolve({
        code: code ?? 1,
        ...(signal && { signal }),
        ...(interruptedBy && { interruptedBy }),
      })
    })
  })
}

/** Ends a process when the signal aborts. The returned function cancels this. */
export function stopOnAbort(
  stopped: AbortSignal | undefined,
  kill: (signal: NodeJS.Signals) => unknown,
): () => void {
  let timer: NodeJS.Timeout | undefined
  const stop = (): void => {
    kill('SIGTERM')
    timer = setTimeout(() => kill('SIGKILL'), STOP_MS)
  }
  if (stopped?.aborted) stop()
  stopped?.addEventListener('abort', stop, { once: true })
  return () => {
    stopped?.removeEventListener('abort', stop)
    clearTimeout(timer)
  }
}

/**
 * Ctrl-C in a terminal reaches the agent directly if it is in the same process group, and is then
 * never forwarded. A signal sent only to this process is, unless the agent has ended by then.
 */
function forwardSignals(
  isDetached: boolean,
  onSignal: (signal: NodeJS.Signals) => () => void,
): () => void {
  const timers: NodeJS.Timeout[] = []
  // Opening process.stdin here would make the agent's pipe non-blocking.
  const typed = isatty(0) || process.stderr.isTTY
  const stop = onStopSignal((signal) => {
    const forward = onSignal(signal)
    if (isDetached) forward()
    else if (signal !== 'SIGINT' || !typed) timers.push(setTimeout(forward, GRACE_MS))
  })
  return () => {
    stop()
    for (const timer of timers) clearTimeout(timer)
  }
}
