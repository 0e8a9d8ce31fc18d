import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processTimes } from './measure/process-times.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const root = join(import.meta.dirname, '..')
const retake = join(root, 'packages/cli/bin/retake.mjs')

/** Limit for what `retake record` may add to plain Node. */
const ADDED_MS = 250

/**
 * The cost of loading the library, and of recording a program that does nothing. CPU time, the
 * least of many: other work on the machine can only add to it.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  const rounds = quick ? 2 : 15
  return withTemporaryFolder(async (folder) => {
    writeFileSync(join(folder, 'empty.mjs'), '')
    const commands = {
      plain: ['empty.mjs'],
      retake: importing('retake'),
      openai: importing('openai'),
      recorded: [retake, 'record', 'empty.mjs'],
    }
    const least = {}
    for (let round = 0; round < rounds; round++) {
      for (const [name, args] of Object.entries(commands)) {
        const { cpuMs, wallMs } = processTimes(args, folder)
        const known = least[name] ?? { cpuMs, wallMs }
        least[name] = {
          cpuMs: Math.min(known.cpuMs, cpuMs),
          wallMs: Math.min(known.wallMs, wallMs),
        }
      }
    }
    const added = (name, unit) => least[name][unit] - least.plain[unit]
    const ms = (value) => `${value.toFixed(0)} ms`
    const method = `least of ${rounds}, in turns, minus plain Node (${ms(least.plain.cpuMs)})`
    const modules = countModules(importing('retake'))
    const preloaded = countModules(importing('@retake/engine/preload'))
    return [
      {
        name: "CPU of import 'retake' / import 'openai'",
        ratio: added('retake', 'cpuMs') / added('openai', 'cpuMs'),
        gate: { max: 2 },
        method: `${method}; ${ms(added('retake', 'cpuMs'))} against ${ms(added('openai', 'cpuMs'))}`,
      },
      {
        name: `CPU that retake record adds to an empty program / ${ADDED_MS} ms`,
        ratio: added('recorded', 'cpuMs') / ADDED_MS,
        gate: { max: 1 },
        method: `${method}, of both processes; ${ms(added('recorded', 'cpuMs'))}`,
      },
      {
        name: `time that retake record adds to an empty program / ${ADDED_MS} ms`,
        ratio: added('recorded', 'wallMs') / ADDED_MS,
        method: `the same, on the clock; ${ms(added('recorded', 'wallMs'))}`,
      },
      { name: "files loaded by import 'retake'", ratio: modules, method: 'without Node itself' },
      { name: 'files loaded by a recorded process', ratio: preloaded, method: 'the same' },
    ]
  })
}

/** By the address of the file, so that it works in any folder. */
const importing = (name) => [
  '--input-type=module',
  '-e',
  `await import(${JSON.stringify(import.meta.resolve(name))})`,
]

/** Counts what a loader hook is asked for. */
function countModules(args) {
  const hooks = `export const load = async (url, context, next) => {
    if (url.startsWith('file:')) process._rawDebug('loaded')
    return next(url, context)
  }`
  const register = `import { register } from 'node:module'
    register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)})`
  const preload = `data:text/javascript,${encodeURIComponent(register)}`
  const { stderr } = spawnSync(process.execPath, ['--import', preload, ...args], {
    encoding: 'utf8',
  })
  return stderr.split('\n').filter((line) => line === 'loaded').length
}
