import { onStopSignal } from '../command-line/exit-codes.js'
import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import module from 'node:module'
import path from 'node:path'
import { isatty } from 'node:tty'
import { type DeferredPreloads, PRELOADS_VARIABLE, type ProcessTask } from '@retake/engine'
import type { Preload } from '@retake/tape'
import { cliErrors } from '../errors.js'
import { cliEntry } from '../package-root.js'

/**
 * Modules that only change how others are loaded. They stay with Node: inside the run,
 * their compiler processes and caches would be part of the recording.
 */
const LOADER = packageNamed(
  String.raw`tsx|ts-node|tsimp|jiti|sucrase|amaro|esbuild-register|ts-blank-space|@swc-node[\\/]register|@babel[\\/]register|@oxc-node[\\/]core|@esbuild-kit[\\/][\w-]+`,
)
/** Loaders that leave TypeScript alone. */
const HELPER = packageNamed('tsconfig-paths|source-map-support')

/** Matches the name of a module that belongs to one of these packages. */
function packageNamed(names: string): RegExp {
  return new RegExp(String.raw`(?:^|[\\/]node_modules[\\/])(?:${names})(?:[\\/]|$)`)
}

const FLAGS: Readonly<Record<string, Preload['how']>> = {
  '--import': 'import',
  '--require': 'require',
  '-r': 'require',
}

/** Node flags without those that preload the user's modules, plus these modules in order. */
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

/** True if the user preloads a TypeScript loader of their own, which then compiles the agent. */
export function hasTypeScriptLoader(
  nodeArgs: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const flags = [...splitOptions(env['NODE_OPTIONS'] ?? ''), ...nodeArgs]
  return flags.some((flag, index) => {
    const [, name = flag, value = flags[index + 1] ?? ''] = /^(--[^=]+)=(.*)$/s.exec(flag) ?? []
    return LOADER_FLAGS.has(name) && LOADER.test(value)
  })
}

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

/** Split as Node does: at spaces, except within double quotes, where a backslash escapes. */
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
 * Node loads the modules of `NODE_OPTIONS` into the `retake` command too, before any of its
 * code runs, so their effects there cannot be prevented. This line says so.
 */
export function ownPreloadLines(options = process.env['NODE_OPTIONS'] ?? ''): string[] {
  const names = takeFromNodeOptions(options).preloads.map(({ name }) => name)
  return names.length === 0
    ? []
    : [
        `NODE_OPTIONS also loaded ${names.join(', ')} into this command, outside of the run. Unset it: the run loads what it was recorded with.`,
      ]
}

export interface AgentProcess {
  /** Retake's own flags for Node; they come last, after every preload of the user's, and are hidden from the agent. */
  readonly retakeFlags: readonly string[]
  /** Flags of the run. */
  readonly nodeArgs: readonly string[]
  /** Flags for this process only; not part of the run. */
  readonly ownNodeArgs?: readonly string[]
  /** Modules to load inside the run, in place of flags that preload them; missing when Node loads them before it. */
  readonly preloads?: readonly Preload[]
  readonly entry: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly stdio: StdioOptions
  /** Gets what the agent writes to stdout, when that is a pipe. */
  readonly onOutput?: (chunk: Buffer) => void
  /** Killed after this; without it an agent may run for ever. */
  readonly timeoutMs?: number
  /** Stops it: first with a signal, then by killing it. */
  readonly stopped?: AbortSignal
}

export interface AgentEnd {
  readonly code: number
  /** The signal that killed it, if one did. */
  readonly signal?: NodeJS.Signals
  /** The signal that reached this process meanwhile: the user wants to stop. */
  readonly interruptedBy?: NodeJS.Signals
}

/** How long an agent may take to react to a signal it may have got itself. */
const GRACE_MS = 250
/** How long it may take to clean up when it is stopped. */
const STOP_MS = 2000

/**
 * Flags that bring Retake into a process, and its TypeScript loader if the agent is written in
 * TypeScript and the user names no loader of their own.
 */
export function preloadFlags({
  entry,
  nodeArgs,
  env,
}: Pick<AgentProcess, 'entry' | 'nodeArgs' | 'env'>): string[] {
  const engine = import.meta.resolve('@retake/engine/preload')
  const own = (name: string): string => cliEntry(name).href
  const isTypeScript = /\.[cm]?ts$/.test(entry)
  const modules = hasTypeScriptLoader(nodeArgs, env)
    ? [own('user-loader'), engine]
    : isTypeScript
      ? [
          own('typescript-loader'),
          engine,
          ...('registerHooks' in module ? [] : [own('enable-source-maps')]),
        ]
      : [engine]
  return modules.map((url) => `--import=${url}`)
}

/** Systems take at most 128 kB in one variable. */
const VARIABLE_LENGTH = 30_000

/** A task as text for its variable. The plan of a fork may contain a whole conversation, a recording many files. */
export function handedOver(task: ProcessTask, folder: string): string {
  const text = JSON.stringify(task)
  if (text.length <= VARIABLE_LENGTH) return text
  const file = path.join(folder, 'task.json')
  writeFileSync(file, text, { mode: 0o600 })
  return `@${file}`
}

/** Arguments and environment of the process: without flags whose modules are loaded inside the run. */
export function nodeCommand(
  agent: Pick<
    AgentProcess,
    'nodeArgs' | 'ownNodeArgs' | 'retakeFlags' | 'entry' | 'args' | 'env' | 'preloads'
  >,
): { readonly args: string[]; readonly env: NodeJS.ProcessEnv } {
  const { nodeArgs, ownNodeArgs = [], preloads, env } = agent
  const flags = preloads === undefined ? nodeArgs : takePreloads(nodeArgs).flags
  const args = [...flags, ...ownNodeArgs, ...agent.retakeFlags, agent.entry, ...agent.args]
  if (preloads === undefined) return { args, env }
  const { NODE_OPTIONS: nodeOptions, ...others } = env
  const handedOn: DeferredPreloads = {
    modules: preloads,
    execArgv: nodeArgs,
    ...(nodeOptions !== undefined && { nodeOptions }),
  }
  const rest = takeFromNodeOptions(nodeOptions ?? '').text
  return {
    args,
    env: {
      ...others,
      ...(rest !== '' && { NODE_OPTIONS: rest }),
      [PRELOADS_VARIABLE]: JSON.stringify(handedOn),
    },
  }
}

/**
 * Runs an agent to its end. Signals that reach this process are for the agent:
 * it may clean up, and this process waits until it has ended.
 */
export function runAgent(agent: AgentProcess): Promise<AgentEnd> {
  const { args, env } = nodeCommand(agent)
  const child = spawn(process.execPath, args, {
    cwd: agent.cwd,
    env,
    stdio: agent.stdio,
    ...(agent.timeoutMs !== undefined && { timeout: agent.timeoutMs, killSignal: 'SIGKILL' }),
  })
  if (agent.onOutput) child.stdout?.on('data', agent.onOutput)
  return endOf(child, cliErrors.AGENT_NOT_STARTED, stopWhen(agent.stopped, child))
}

/** Waits for a process to end, handing on the signals that reach this one; then calls `release`. */
export function endOf(
  child: ChildProcess,
  notStarted: (cause: unknown) => Error,
  release: () => void,
): Promise<AgentEnd> {
  let interruptedBy: NodeJS.Signals | undefined
  const stopForwarding = forwardSignals(
    (signal) => (interruptedBy = signal),
    (signal) => child.kill(signal),
  )
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

/** Ends a process when the signal says so; the answer gives that up. */
function stopWhen(stopped: AbortSignal | undefined, child: ChildProcess): () => void {
  let timer: NodeJS.Timeout | undefined
  const stop = (): void => {
    child.kill('SIGTERM')
    timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  }
  if (stopped?.aborted) stop()
  stopped?.addEventListener('abort', stop, { once: true })
  return () => {
    stopped?.removeEventListener('abort', stop)
    clearTimeout(timer)
  }
}

/**
 * Ctrl-C reaches the agent by itself, being of the same process group; a signal
 * sent to this process alone does not. Passed on only where the agent has not
 * ended by then, and never for a Ctrl-C typed in a terminal.
 */
function forwardSignals(
  onSignal: (signal: NodeJS.Signals) => void,
  forward: (signal: NodeJS.Signals) => void,
): () => void {
  const timers: NodeJS.Timeout[] = []
  // Not process.stdin: opening it here would make the agent's pipe non-blocking.
  const typed = isatty(0) || process.stderr.isTTY
  const stop = onStopSignal((signal) => {
    onSignal(signal)
    if (signal === 'SIGINT' && typed) return
    timers.push(setTimeout(() => forward(signal), GRACE_MS))
  })
  return () => {
    stop()
    for (const timer of timers) clearTimeout(timer)
  }
}
