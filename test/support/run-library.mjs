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
 * What the last line of a library fixture says: of `record`, of `replay`, or an error.
 *
 * @typedef {object} LibraryResult
 * @property {unknown} [output]
 * @property {{ id: string, name: string, path: string }} [run]
 * @property {readonly import('@retake/engine').Divergence[]} [divergences]
 * @property {{ class: string, name: string, message: string, code?: string,
 *   divergence?: import('@retake/engine').Divergence }} [error]
 */

/**
 * Runs a program that uses the library and prints its result as the last line
 * of stdout, in JSON.
 *
 * @param {string} program Path of the program.
 * @param {unknown} task Handed to it as JSON.
 * @param {import('./run-retake.mjs').RunOptions & { cwd: string, node?: string,
 *   nodeArgs?: readonly string[] }} options
 * @returns {Promise<import('./run-retake.mjs').Finished & { result: LibraryResult }>}
 *   Rejects when the program ended without a result.
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

const runner = agentPath('library/run-agent.mjs')

/**
 * Records an agent function: `agent` names a module that exports `agent(base)`.
 *
 * @param {{ agent: string, base: string, dir: string, lingerMs?: number }} task
 * @param {Parameters<typeof runLibrary>[2]} options
 */
export const recordFunction = (task, options) =>
  runLibrary(runner, { mode: 'record', ...task }, options)

/**
 * Replays an agent function.
 *
 * @param {{ agent: string, base: string, tape: string, lingerMs?: number,
 *   options?: { mode?: 'strict' | 'observe', pace?: 'full' | 'recorded' } }} task
 * @param {Parameters<typeof runLibrary>[2]} options
 */
export const replayFunction = (task, options) =>
  runLibrary(runner, { mode: 'replay', ...task }, options)
