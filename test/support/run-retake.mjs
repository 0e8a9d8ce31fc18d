import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

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
 * Runs a program to its end and collects what it says.
 *
 * @param {string} file
 * @param {readonly string[]} args
 * @param {string} cwd
 * @param {RunOptions} [options]
 * @returns {Promise<Finished>}
 */
export function run(file, args, cwd, { env = {}, input, timeoutMs = 240_000 } = {}) {
  const started = performance.now()
  const child = spawn(file, args, {
    cwd,
    env: { ...inheritedEnv(), ...env },
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
 * @returns {Promise<Pick<Finished, 'stdout' | 'stderr' | 'code'>[]>}
 */
export async function runCommands(commands, cwd) {
  const child = fork(commandRunner, { cwd, env: inheritedEnv(), stdio: 'pipe', execArgv: [] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (said += chunk))
  const ended = once(child, 'close').then(([code]) => {
    throw new Error(`a command ended its process with ${code}: ${said}`)
  })
  child.send(commands)
  const [finished] = await Promise.race([once(child, 'message'), ended])
  await ended.catch(() => {})
  return finished
}

async function readReport(path) {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text === '' ? undefined : JSON.parse(text)
}
