import { fork, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { findConfig } from '../../packages/runner/dist/config/find-config.js'

const cli = fileURLToPath(new URL('../../packages/cli/bin/retake.mjs', import.meta.url))
const agents = fileURLToPath(new URL('../agents/', import.meta.url))
const commandRunner = fileURLToPath(new URL('run-commands.mjs', import.meta.url))
const noNetwork = fileURLToPath(new URL('no-network.mjs', import.meta.url))

/** Path of a fixture agent. @param {string} name For example `axios.mjs`. */
export const agentPath = (name) => join(agents, name)

/**
 * How a command ended.
 *
 * @typedef {object} Finished
 * @property {string} stdout
 * @property {string} stderr
 * @property {number | null} code
 * @property {NodeJS.Signals | null} signal
 * @property {number} ms
 */

/**
 * @typedef {object} RunOptions
 * @property {Readonly<Record<string, string>>} [env] Added to the environment.
 * @property {string} [input] Its stdin; without it, stdin is closed.
 * @property {number} [timeoutMs] Killed after this; four minutes unless said.
 */

/** Variables the fixture agents read; a replay must not need them. */
const agentVariables = ['AGENT_BASE_URL', 'AGENT_H2_URL']

/**
 * A folder of its own to run the built command line in.
 *
 * @typedef {object} Workspace
 * @property {string} folder
 * @property {(args: readonly string[], options?: RunOptions) => Promise<Finished>} retake
 *   Runs `retake` with these arguments.
 * @property {(commands: readonly (readonly string[])[]) =>
 *   Promise<Pick<Finished, 'stdout' | 'stderr' | 'code'>[]>} retakeEach
 *   Runs several command lines in one process, which is cheaper. Only for commands that print
 *   and return: they do not end their process, start no program, and see files as they are now.
 * @property {(agent: string, options: RunOptions & { args?: readonly string[],
 *   flags?: readonly string[], provider: { url: string, h2Url: string } }) => Promise<Finished>} record
 *   Records a fixture agent against a provider; `args` are its own, `flags` those of the command.
 * @property {(options?: RunOptions & { run?: string }) =>
 *   Promise<Finished & { waysOut: Record<string, number> | undefined }>} replay
 *   Replays a run (`last` unless said) with every way out of the process
 *   counted; `waysOut` is undefined when the process never reported.
 * @property {() => Promise<void>} remove
 */

/** @returns {Promise<Workspace>} */
export async function makeWorkspace() {
  const outer = await realpath(await mkdtemp(join(tmpdir(), 'retake-test-')))
  const folder = join(outer, 'work')
  await mkdir(folder)
  let replays = 0
  const retake = (args, options) => run(process.execPath, [cli, ...args], folder, options)
  return {
    folder,
    retake,
    retakeEach: (commands) => runCommands(commands, folder),
    record: (agent, { provider, args = [], flags = [], env, ...options }) =>
      retake(['record', ...flags, agentPath(agent), ...args], {
        ...options,
        env: { AGENT_BASE_URL: provider.url, AGENT_H2_URL: provider.h2Url, ...env },
      }),
    replay: async ({ run: name = 'last', ...options } = {}) => {
      const report = join(outer, `ways-out-${replays++}.json`)
      const preload = `${pathToFileURL(noNetwork).href}?report=${encodeURIComponent(report)}`
      const nodeArgs = [
        `--import=${preload}`,
        ...(hasPermissions ? [`--allow-fs-write=${outer}`] : []),
      ]
      const finished = await retake(
        ['replay', name, ...nodeArgs.map((flag) => `--node-arg=${flag}`)],
        options,
      )
      return { ...finished, waysOut: await readReport(report) }
    },
    remove: () => rm(outer, { recursive: true, force: true, maxRetries: 3 }),
  }
}

/** Replay runs under Node's permission model where there is one; the counts need a way to disk. */
const hasPermissions = process.allowedNodeEnvironmentFlags.has('--permission')

/**
 * Commands that share a process in a test file, because most of their time is the start of a
 * process; in a soak, each has its own. The others load code of the project, wait for a signal
 * or end their process.
 */
const SHARED = new Set(
  (
    'audit blame branches chaos ci compare diff docs eval export failures files fix fork gc import ' +
    'list locate prune receipt record replay report rerun resume rm scan scrub separate show ' +
    'snapshot tag verify verify-receipt'
  ).split(' '),
)

/** Commands that take longer are killed, unless a test gives them more time. */
const LIMIT_MS = 240_000

/** Variables that are read once in a process, and the folder of trusted runs. */
const READ_ONCE = /^(?:NODE_|RETAKE_|UV_|SSL_|XDG_|LC_|LANG|TZ)/

/** True if a command may run in a process that ran other commands before. */
const isShared = (args, cwd, env) =>
  process.env['RETAKE_SOAK'] !== '1' &&
  SHARED.has(args[0] ?? '') &&
  !args.includes('--trust') &&
  !Object.keys(env).some((name) => READ_ONCE.test(name)) &&
  // Settings of a project are read once in a process.
  findConfig(cwd) === undefined

/** @type {ReturnType<typeof startCommands> | undefined} */
let shared

/** The shared process, unless it runs a command now. */
function idleCommands() {
  if (shared?.isConnected() !== true) shared = startCommands()
  return shared.isIdle() ? shared : undefined
}

/**
 * Runs a program to its end and collects what it says.
 *
 * @param {string} file
 * @param {readonly string[]} args
 * @param {string} cwd
 * @param {RunOptions} [options]
 * @returns {Promise<Finished>}
 */
export function run(file, args, cwd, { env: added = {}, input, timeoutMs = LIMIT_MS } = {}) {
  const env = { ...inheritedEnv(), ...added }
  const isCommand = file === process.execPath && args[0] === cli
  if (isCommand && input === undefined && isShared(args.slice(1), cwd, added)) {
    const commands = idleCommands()
    if (commands !== undefined) return commands.run(args.slice(1), cwd, env, timeoutMs)
  }
  const started = performance.now()
  const child = spawn(file, args, {
    cwd,
    env,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
  const stdout = []
  const stderr = []
  child.stdout.on('data', (chunk) => stdout.push(chunk))
  child.stderr.on('data', (chunk) => stderr.push(chunk))
  // A program that ends before it has read its input is not a failure of the test.
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) =>
      resolve({
        stdout: Buffer.concat(stdout).toString(),
        stderr: Buffer.concat(stderr).toString(),
        code,
        signal,
        ms: performance.now() - started,
      }),
    )
  })
}

/** @returns {Record<string, string | undefined>} */
function inheritedEnv() {
  const inherited = Object.entries(process.env).filter(
    // Vitest marks its children; an agent should not see that it is tested.
    ([name]) => !agentVariables.includes(name) && !/^(VITEST|NODE_OPTIONS|RETAKE_)/.test(name),
  )
  return { ...Object.fromEntries(inherited), NO_COLOR: '1' }
}

/**
 * Runs several command lines of `retake` in one process; see `retakeEach` of a workspace.
 *
 * @param {readonly (readonly string[])[]} commands
 * @param {string} cwd
 * @param {string} [node] Another version of Node.
 * @returns {Promise<Finished[]>}
 */
export async function runCommands(commands, cwd, node) {
  const runner = startCommands(node)
  const finished = []
  for (const args of commands) finished.push(await runner.run(args, cwd, inheritedEnv()))
  runner.end()
  return finished
}

/**
 * Starts a process that runs command lines of `retake` one after the other. It ends with this
 * process, and does not keep it alive while it is idle.
 */
function startCommands(node = process.execPath) {
  const child = fork(commandRunner, {
    execPath: node,
    cwd: tmpdir(),
    env: inheritedEnv(),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: [],
  })
  const endMark = Buffer.from(`\0end of a command ${randomUUID()}\0`)
  const streams = [child.stdout, child.stderr]
  const handles = [child, child.channel, ...streams]
  for (const handle of handles) handle.unref()
  let isRunning = false
  /** Reads a stream up to the end mark. */
  const readToEnd = (stream) =>
    new Promise((resolve, reject) => {
      const chunks = []
      let end = Buffer.alloc(0)
      const ended = (code, signal) =>
        reject(new Error(`a command ended its process with ${code ?? signal}: ${chunks.join('')}`))
      child.once('close', ended)
      stream.on('data', function read(chunk) {
        chunks.push(chunk)
        end = Buffer.concat([end, chunk]).subarray(-endMark.length)
        if (!end.equals(endMark)) return
        stream.off('data', read)
        child.off('close', ended)
        resolve(Buffer.concat(chunks).subarray(0, -endMark.length).toString())
      })
    })
  return {
    isConnected: () => child.connected,
    isIdle: () => !isRunning,
    /** @returns {Promise<Finished>} */
    async run(args, cwd, env, timeoutMs = LIMIT_MS) {
      const started = performance.now()
      isRunning = true
      for (const handle of handles) handle.ref()
      const limit = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
      const answered = once(child, 'message')
      child.send({ args, cwd, env, endMark: endMark.toString() })
      const [stdout, stderr] = await Promise.all(streams.map(readToEnd))
      const [{ code, failed }] = await answered
      clearTimeout(limit)
      for (const handle of handles) handle.unref()
      isRunning = false
      if (failed !== undefined) throw new Error(`${failed}\n${stdout}\n${stderr}`)
      return { stdout, stderr, code, signal: null, ms: performance.now() - started }
    },
    end: () => child.disconnect(),
  }
}

async function readReport(path) {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text === '' ? undefined : JSON.parse(text)
}
