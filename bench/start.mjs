import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
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
      ...(await storingCode(join(folder, 'small'), 6, rounds)),
      ...(await storingCode(join(folder, 'large'), 302, rounds)),
    ]
  })
}

/** Limit for what storing the code of an unchanged program may take. */
const CODE_MS = 5

/** What it costs to store the code of a program, in a new process each time as in a recording. */
async function storingCode(folder, count, rounds) {
  mkdirSync(join(folder, 'lib'), { recursive: true })
  const modules = Array.from({ length: count - 2 }, (_, index) => `./lib/${index}.mjs`)
  const text = (index) => `export const name${index} = 1\n${'// a line of code\n'.repeat(100)}`
  for (const [index, name] of modules.entries()) writeFileSync(join(folder, name), text(index))
  const agent = modules.map((name) => `import '${name}'\n`).join('')
  writeFileSync(join(folder, 'agent.mjs'), agent)
  writeFileSync(join(folder, 'package.json'), '{}')
  // Younger files are always read again.
  await pause(2100)
  const script = join(import.meta.dirname, 'measure/store-code.mjs')
  const store = () =>
    JSON.parse(execFileSync(process.execPath, [script, folder], { encoding: 'utf8' }))
  const leastOf = (runs) => ({ ...runs[0], cpuMs: Math.min(...runs.map(({ cpuMs }) => cpuMs)) })
  const first = leastOf(
    Array.from({ length: 3 }, () => {
      rmSync(join(folder, '.retake'), { recursive: true, force: true })
      return store()
    }),
  )
  const again = leastOf(Array.from({ length: rounds }, store))
  return [
    {
      name: `CPU of storing ${again.files} unchanged files of code / ${CODE_MS} ms`,
      ratio: again.cpuMs / CODE_MS,
      gate: { max: 1 },
      method: `least of ${rounds} processes, ${again.cpuMs.toFixed(1)} ms; the first time ${first.cpuMs.toFixed(0)} ms; ${again.onTape} bytes on the tape`,
    },
  ]
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
