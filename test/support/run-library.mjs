import { cp, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { agentPath, run } from './run-retake.mjs'

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))

/**
 * Lets programs in `folder` import the packages of this repository.
 *
 * @param {string} folder
 */
export const linkModules = (folder) => symlink(modules, join(folder, 'node_modules'), 'junction')

/**
 * Copies fixtures into `folder`, where a test can edit them.
 *
 * @param {string} folder
 * @param {readonly string[]} names For example `library/refund-agent.mjs`.
 */
export async function copyAgents(folder, names) {
  for (const name of names) await cp(agentPath(name), join(folder, basename(name)))
}

/**
 * What came of one task: of `record`, of `replay`, or an error.
 *
 * @typedef {object} LibraryResult
 * @property {unknown} [output]
 * @property {{ id: string, name: string, path: string }} [run]
 * @property {readonly import('@retake/engine').Divergence[]} [divergences]
 * @property {number} [ms] How long it took.
 * @property {{ class: string, name: string, message: string, code?: string,
 *   divergence?: import('@retake/engine').Divergence }} [error]
 */

/**
 * An agent function to record or replay: `agent` is the path of a module,
 * `name` the function it exports, `agent` unless said.
 *
 * @typedef {object} LibraryTask
 * @property {'record' | 'replay'} mode
 * @property {string} agent
 * @property {string} [name]
 * @property {string} base The provider's address, handed to the agent.
 * @property {string} [dir] Where a recording goes.
 * @property {string} [tape] What to replay.
 * @property {{ mode?: 'strict' | 'observe', pace?: 'full' | 'recorded' }} [options]
 * @property {number} [lingerMs] Waits this long after the run.
 */

/** @typedef {import('./run-retake.mjs').RunOptions & { cwd: string, node?: string, nodeArgs?: readonly string[] }} LibraryOptions */

/**
 * Runs a program that uses the library and prints its result as the last line
 * of stdout, in JSON. Rejects when it ends without one.
 *
 * @param {string} program Path of the program.
 * @param {unknown} task Handed to it as JSON.
 * @param {LibraryOptions} options
 * @returns {Promise<import('./run-retake.mjs').Finished & { result: unknown }>}
 */
export async function runLibrary(program, task, { cwd, node, nodeArgs = [], ...options }) {
  const args = [...nodeArgs, program, JSON.stringify(task)]
  const finished = await run(node ?? process.execPath, args, cwd, options)
  const lines = finished.stdout.trimEnd().split('\n')
  try {
    const result = JSON.parse(lines.pop() ?? '')
    return { ...finished, stdout: lines.join('\n'), result }
  } catch (cause) {
    const { code, signal, stdout, stderr } = finished
    throw new Error(`no result, ended with ${code ?? signal}\n${stdout}\n${stderr}`, { cause })
  }
}

/**
 * Does tasks one after another in one process.
 *
 * @param {readonly LibraryTask[]} tasks
 * @param {LibraryOptions} options
 * @returns {Promise<import('./run-retake.mjs').Finished & { results: LibraryResult[] }>}
 */
export async function runTasks(tasks, options) {
  const runner = agentPath('library/run-agent.mjs')
  const { result, ...finished } = await runLibrary(runner, tasks, options)
  return { ...finished, results: /** @type {LibraryResult[]} */ (result) }
}

/**
 * Does one task in a process of its own.
 *
 * @param {LibraryTask} task
 * @param {LibraryOptions} options
 * @returns {Promise<import('./run-retake.mjs').Finished & { result: LibraryResult }>}
 */
export async function runTask(task, options) {
  const { results, ...finished } = await runTasks([task], options)
  return { ...finished, result: results[0] }
}
