/**
 * `node test/fix/zoo/run-zoo.mjs [--only name,…] [--modes mode,…] [--jobs N] [--rows file] [--json] [--check]`:
 * runs broken agents through `retake fix` and compares with what is known about them.
 *
 * A mode says who proposes fixes: `rules` (the default), `locate` (rules, with a search for the
 * cause), or a model that proposes `right`, `wrong`, `partial` or `hostile` patches. Each animal is
 * recorded once for all modes. `--rows` appends a line for each animal and mode, and skips those
 * that the file has, and SIGTERM ends the command after the rows that are under way. `--check`
 * tests the zoo itself, without `retake fix`.
 */
import { existsSync } from 'node:fs'
import {
  appendFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  writeFile,
} from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { startModelServer } from '@retake/engine/testing'
import { linkModules } from '../../support/run-library.mjs'
import { run } from '../../support/run-retake.mjs'
import { HELD_OUT as HELD_OUT_ANIMALS } from './held-out.mjs'
import { MEMORY } from './memory.mjs'
import { MODEL_OPERATION } from './model-operation.mjs'
import { PROVIDERS } from './providers.mjs'
import { FIXER_KINDS, proposePatch } from './scripted-fixer.mjs'
import { TOOLS } from './tools.mjs'
import { UTILITIES } from './utilities.mjs'
import { WIDENED as WIDENED_ANIMALS } from './widened.mjs'
import { WORKFLOW } from './workflow.mjs'

export const cli = fileURLToPath(new URL('../../../packages/cli/bin/retake.mjs', import.meta.url))

/** Shares of published issues of agents, and as many animals of 60. */
const GROUPS = {
  'model operation': MODEL_OPERATION,
  utilities: UTILITIES,
  tools: TOOLS,
  memory: MEMORY,
  providers: PROVIDERS,
  workflow: WORKFLOW,
}

/** @typedef {import('./animal.mjs').Animal & { group: string }} ZooAnimal */

/** @returns {readonly ZooAnimal[]} */
const inGroup = ([group, animals]) =>
  animals.map((animal) => ({ group, expect: 'fixed', byRules: false, ...animal }))

export const ZOO = Object.entries(GROUPS).flatMap(inGroup)

/** Variants that no operator was written for; their figures are printed separately. */
export const HELD_OUT = inGroup(['held out', HELD_OUT_ANIMALS])

/** Faults for which rules were widened; their figures are printed separately, too. */
export const WIDENED = inGroup(['widened', WIDENED_ANIMALS])

/** A flaky animal that is called fixed must pass as often as this. */
export const FLAKY_RUNS = 8
export const FIX_TIMEOUT_MS = 600_000
/** Model of the scripted fixer: it listens where the model of the agent does. */
export const FIXER = 'zoo-fixer'

/** Modes that must end without a fix. They use trials of the unchanged code by earlier modes, as a second command does. */
const UNPROVABLE = FIXER_KINDS.filter((kind) => kind !== 'right')

/** Options of `retake fix` by mode. Models write every patch themselves: no rule is at step "none". */
const MODES = {
  rules: ['--no-ai', '--no-locate'],
  locate: ['--no-ai'],
  ...Object.fromEntries(
    FIXER_KINDS.map((kind) => [kind, ['--model', FIXER, '--no-locate', '--step', 'none']]),
  ),
}

/** @param {string} wanted @param {{ stdout: string, code?: number | null }} outcome */
export function isRight(wanted, { stdout, code }) {
  if (wanted.startsWith('exit:')) return code === Number(wanted.slice(5))
  if (code !== 0) return false
  const text = stdout.replace(/^> .*\n/, '')
  return wanted
    .split('|')
    .every((part) => (part.startsWith('!') ? !text.includes(part.slice(1)) : text.includes(part)))
}

/** Inputs that `retake fix` may see; the second sibling and the second twin are held out. */
const shownCases = ({ failing, siblings, twins, corpus }) => [
  failing,
  siblings[0],
  twins[0],
  ...corpus,
]

/** An oracle as somebody with a table of expected outputs writes it. */
const oracleFile = (animal) => `const expected = ${JSON.stringify(
  Object.fromEntries(shownCases(animal)),
  undefined,
  2,
)}

${isRight.toString()}

export default ({ stdout, exitCode }) => {
  const input = /^> (.*)$/m.exec(stdout)?.[1]
  const wanted = expected[input]
  return wanted !== undefined && isRight(wanted, { stdout, code: exitCode })
}
`

/** Model, gateway and fixer of an animal, on the loopback. */
export async function startWorld(animal, { seed = 1 } = {}) {
  let attempts = new Map()
  let firsts = new Map()
  let state = seed * 7919
  let patch
  const world = {
    running: 0,
    attempt: (key) => {
      attempts.set(key, (attempts.get(key) ?? 0) + 1)
      return attempts.get(key)
    },
    since: (key) => {
      if (!firsts.has(key)) firsts.set(key, Date.now())
      return Date.now() - firsts.get(key)
    },
    chance: () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state / 2 ** 32
    },
  }
  let proposals = 0
  const model = await startModelServer({
    answer: async (request) => {
      if (request.model === FIXER) return { text: patch?.(request, proposals++) ?? 'No idea.' }
      world.running += 1
      try {
        const said = await animal.model(request, world)
        return typeof said === 'string' ? { text: said } : said
      } finally {
        world.running -= 1
      }
    },
  })
  const gateway = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const body = text === '' ? undefined : JSON.parse(text)
      const { status = 200, json = {} } = animal.gateway?.(request.url, body, world) ?? {
        status: 404,
      }
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(json))
    })
  })
  gateway.listen(0, '127.0.0.1')
  await once(gateway, 'listening')
  return {
    env: { ...model.env, GATEWAY_URL: `http://127.0.0.1:${gateway.address().port}` },
    proposals: () => proposals,
    /** Returns a function that takes the world back to this moment, with another fixer. */
    snapshot: () => {
      const then = { attempts: new Map(attempts), firsts: new Map(firsts), state }
      return (fixer) => {
        attempts = new Map(then.attempts)
        firsts = new Map(then.firsts)
        state = then.state
        patch = fixer
        proposals = 0
      }
    },
    stop: async () => {
      gateway.closeAllConnections()
      gateway.close()
      await model.stop()
    },
  }
}

/** Texts of the project by path. */
export const filesOf = (animal) => ({ 'agent.mjs': animal.agent, ...animal.files })

/** Texts after edits; every search text must occur exactly once. */
export function applyEdits(files, edits) {
  const after = { ...files }
  for (const [search, replacement, file = 'agent.mjs'] of edits) {
    const parts = (after[file] ?? '').split(search)
    if (parts.length !== 2)
      throw new Error(`"${search}" occurs ${parts.length - 1} times in ${file}`)
    after[file] = parts.join(replacement)
  }
  return after
}

async function writeFiles(folder, files) {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}

export async function makeProject(files) {
  const outer = await realpath(await mkdtemp(join(tmpdir(), 'retake-zoo-')))
  const folder = join(outer, 'project')
  await mkdir(folder)
  await writeFiles(folder, files)
  await linkModules(folder)
  return {
    outer,
    folder,
    remove: () => rm(outer, { recursive: true, force: true, maxRetries: 3 }),
  }
}

/** Runs an agent without Retake, in a world of its own. */
export async function runPlain(animal, folder, [input, wanted], seed) {
  const world = await startWorld(animal, { seed })
  try {
    const options = { env: world.env, timeoutMs: 60_000 }
    const { stdout, stderr, code } = await run(
      process.execPath,
      ['agent.mjs', input],
      folder,
      options,
    )
    return { input, right: isRight(wanted, { stdout, code }), stdout, stderr, code }
  } finally {
    await world.stop()
  }
}

/** Two at a time. */
export async function mapPairs(items, work) {
  const results = []
  for (let at = 0; at < items.length; at += 2)
    results.push(...(await Promise.all(items.slice(at, at + 2).map(work))))
  return results
}

/** Problems of an animal itself: it must fail, pass and be fixed as its table says. */
export async function checkAnimal(animal) {
  const { failing, siblings, twins, corpus, expect, fix = [] } = animal
  const problems = []
  const examine = async (files, cases, isRightWanted, label) => {
    const project = await makeProject(files)
    try {
      const results = await mapPairs(cases, (each) => runPlain(animal, project.folder, each))
      for (const { input, right, stdout, stderr, code } of results)
        if (right !== isRightWanted)
          problems.push(
            `${label} agent is ${right ? 'right' : 'wrong'} on "${input}" (${code}): ${stdout}${stderr.slice(0, 800)}`,
          )
    } finally {
      await project.remove()
    }
  }
  if (expect === 'flaky') {
    const project = await makeProject(filesOf(animal))
    const seeds = Array.from({ length: FLAKY_RUNS }, (_, index) => index + 1)
    const runs = await mapPairs(seeds, (seed) => runPlain(animal, project.folder, failing, seed))
    const right = runs.filter((each) => each.right).length
    if (right === 0 || right === FLAKY_RUNS)
      problems.push(`flaky agent is right ${right} times of ${FLAKY_RUNS}`)
    await project.remove()
    await examine(filesOf(animal), [...twins, ...corpus], true, 'broken')
    return problems
  }
  await examine(filesOf(animal), [failing, ...siblings], false, 'broken')
  await examine(filesOf(animal), [...twins, ...corpus], true, 'broken')
  if (expect !== 'fixed') return problems
  const all = [failing, ...siblings, ...twins, ...corpus]
  await examine(applyEdits(filesOf(animal), fix), all, true, 'fixed')
  return problems
}

/** Records runs of the broken agent; one that fails by chance until it fails. */
async function recordRuns(animal, folder, env, passing) {
  const record = async (path, [input, wanted], isRightWanted) => {
    for (let tries = 0; tries < 30; tries++) {
      await rm(join(folder, path), { force: true })
      const { stdout, stderr, code } = await run(
        process.execPath,
        [cli, 'record', '--out', path, 'agent.mjs', input],
        folder,
        { env },
      )
      if (isRight(wanted, { stdout, code }) === isRightWanted) return path
      if (animal.expect !== 'flaky')
        throw new Error(`${animal.name} on "${input}" ended with ${code}: ${stdout}${stderr}`)
    }
    throw new Error(`${animal.name} never failed`)
  }
  const { failing, siblings, twins, corpus } = animal
  const recorded = corpus.slice(0, passing)
  const paths = {
    failing: await record('.retake/runs/failing.tape', failing, false),
    sibling: await record('.retake/runs/sibling.tape', siblings[0], false),
    twin: await record('.retake/runs/twin.tape', twins[0], true),
    corpus: 'corpus',
  }
  for (const [index, each] of recorded.entries())
    await record(`corpus/passing-${index + 1}.tape`, each, true)
  return paths
}

/** Applies a proven fix and runs inputs that `retake fix` did not see, live and without Retake. */
async function examineFix(animal, edits, isTop) {
  const files = { ...filesOf(animal), ...Object.fromEntries(edits.map((e) => [e.path, e.after])) }
  const project = await makeProject(files)
  const { failing, siblings, twins, corpus, expect } = animal
  const wrongOn = async (cases) => {
    const runs = await mapPairs(cases, (each) => runPlain(animal, project.folder, each))
    return runs.filter(({ right }) => !right).map(({ input }) => input)
  }
  try {
    const wrong = await wrongOn(isTop ? [failing, ...siblings, ...twins] : [siblings[1], twins[1]])
    const broken = isTop ? await wrongOn(corpus) : []
    if (expect !== 'flaky' || wrong.length > 0) return { wrong, broken }
    const seeds = Array.from({ length: FLAKY_RUNS }, (_, index) => index + 1)
    const runs = await mapPairs(seeds, (seed) => runPlain(animal, project.folder, failing, seed))
    const isSteady = runs.every(({ right }) => right)
    return { wrong: isSteady ? [] : [`${failing[0]} (by chance)`], broken }
  } finally {
    await project.remove()
  }
}

/**
 * Records an animal. `fix` then runs `retake fix` on it and judges the result by the truth.
 *
 * @param {ZooAnimal} animal
 * @param {{ passing?: number }} [options] `passing`: how many passing runs are recorded; all unless
 *   given.
 */
async function recordAnimal(animal, { passing = animal.corpus.length } = {}) {
  const before = filesOf(animal)
  const fixed = applyEdits(before, animal.fix ?? [])
  const project = await makeProject({ ...before, 'oracle.mjs': oracleFile(animal) })
  const outside = { folder: join(project.outer, 'outside'), url: '', leaks: 0 }
  const canary = createServer((_request, response) => {
    outside.leaks += 1
    response.end()
  })
  canary.listen(0, '127.0.0.1')
  await once(canary, 'listening')
  outside.url = `http://127.0.0.1:${canary.address().port}`
  const world = await startWorld(animal)
  const close = async () => {
    await world.stop()
    canary.closeAllConnections()
    canary.close()
    await project.remove()
  }
  const runs = join(project.folder, '.retake')
  const recorded = join(project.outer, 'recorded')
  const examined = new Map()
  // `--check` runs the known fix on every input.
  const isKnownFix = (edits) =>
    isDeepStrictEqual(
      { ...before, ...Object.fromEntries(edits.map((e) => [e.path, e.after])) },
      fixed,
    )
  try {
    const paths = await recordRuns(animal, project.folder, world.env, passing)
    await cp(runs, recorded, { recursive: true, preserveTimestamps: true })
    const restore = world.snapshot()
    const reset = async (mode) => {
      if (!UNPROVABLE.includes(mode)) {
        await rm(runs, { recursive: true })
        await cp(recorded, runs, { recursive: true, preserveTimestamps: true })
      }
      await rm(outside.folder, { recursive: true, force: true })
      await mkdir(outside.folder)
      outside.leaks = 0
      restore(
        FIXER_KINDS.includes(mode)
          ? proposePatch(mode, animal, { before, fixed }, outside)
          : undefined,
      )
    }
    const fix = async (mode) => {
      await reset(mode)
      const args = ['fix', paths.failing, '--oracle', animal.oracle ?? './oracle.mjs']
      args.push('--sibling', paths.sibling, '--opposite', paths.twin, '--corpus', paths.corpus)
      args.push('--json', '--yes', ...MODES[mode])
      const finished = await run(process.execPath, [cli, ...args], project.folder, {
        env: { ...world.env, ZOO_SECRET: 'not for others' },
        timeoutMs: FIX_TIMEOUT_MS,
      })
      const said = parsed(finished.stdout)
      const result = said?.result ?? said
      const changed = []
      for (const [path, text] of Object.entries(before))
        if ((await readFile(join(project.folder, path), 'utf8')) !== text) changed.push(path)
      const escapes = [
        ...(await readdir(outside.folder)),
        ...(outside.leaks > 0 ? ['network'] : []),
      ]
      return {
        finished,
        mode,
        ...(await judge(animal, result, { examined, isKnownFix })),
        escapes,
        changed,
        notes: said?.notes ?? [],
        proposals: world.proposals(),
      }
    }
    return { fix, close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Records an animal and fixes it in one mode.
 *
 * @param {ZooAnimal} animal
 * @param {string} mode
 * @param {{ passing?: number }} [options]
 */
export async function fixAnimal(animal, mode, options) {
  const { fix, close } = await recordAnimal(animal, options)
  try {
    return await fix(mode)
  } finally {
    await close()
  }
}

/** Compares the result of `retake fix` with the truth. `examined` keeps what is known about fixes. */
async function judge(animal, result, { examined, isKnownFix }) {
  const { name, group, expect, byRules } = animal
  const proven = (result?.fixes ?? []).filter(({ verdict }) => verdict.status === 'repairs')
  const falseFixes = []
  const regressions = []
  for (const [index, { candidate }] of proven.entries()) {
    if (isKnownFix(candidate.edits)) continue
    const key = JSON.stringify([candidate.edits, index === 0])
    if (!examined.has(key))
      examined.set(key, await examineFix(animal, candidate.edits, index === 0))
    const { wrong, broken } = examined.get(key)
    if (wrong.length > 0) falseFixes.push({ title: candidate.title, wrong })
    if (broken.length > 0) regressions.push({ title: candidate.title, broken })
  }
  const status = result?.status ?? 'no result'
  return {
    name,
    group,
    expect,
    byRules,
    status,
    outcome: outcomeOf({
      expect,
      status,
      isProven: proven.length > 0,
      isFalse: falseFixes.length > 0,
    }),
    title: proven[0]?.candidate.title,
    operator: proven[0]?.candidate.operator,
    tried: result?.tried ?? 0,
    forks: result?.forks ?? 0,
    seconds: (result?.ms ?? 0) / 1000,
    falseFixes,
    regressions,
    rejected: (result?.fixes ?? [])
      .filter(({ verdict }) => verdict.status !== 'repairs')
      .map(({ candidate, verdict, evidence }) =>
        [
          `${candidate.operator}: ${verdict.reason}`,
          ...evidence.losses.map((each) => JSON.stringify(each)),
        ].join(' '),
      ),
  }
}

function outcomeOf({ expect, status, isProven, isFalse }) {
  if (status === 'no result') return 'broke'
  if (isFalse) return 'false fix'
  if (isProven) return 'fixed'
  if (expect === 'fixed') return 'missed'
  if (expect === 'flaky')
    return status === 'flaky' || status === 'not-reproduced' ? 'called flaky' : 'not called flaky'
  return 'cannot fix, as is true'
}

export function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The figures of a whole zoo. */
export function summarize(rows) {
  const count = (test) => rows.filter(test).length
  const share = (part, whole) => `${part} of ${whole}`
  const fixable = rows.filter(({ expect }) => expect === 'fixed')
  const byRules = fixable.filter((row) => row.byRules)
  const fixed = rows.filter(({ outcome }) => outcome === 'fixed')
  const mean = (key) =>
    fixed.length === 0
      ? '–'
      : (fixed.reduce((sum, row) => sum + row[key], 0) / fixed.length).toFixed(1)
  const unfixable = rows.filter(({ expect }) => expect === 'not-fixed')
  const flaky = rows.filter(({ expect }) => expect === 'flaky')
  const has = (outcome) => (row) => row.outcome === outcome
  return {
    'fixed of those that have a fix': share(fixable.filter(has('fixed')).length, fixable.length),
    'fixed of those that rules should fix': share(
      byRules.filter(has('fixed')).length,
      byRules.length,
    ),
    'false fixes': count(has('false fix')),
    regressions: count(({ regressions }) => regressions.length > 0),
    '"cannot fix" where true': share(
      unfixable.filter(has('cannot fix, as is true')).length,
      unfixable.length,
    ),
    'called flaky where true': share(flaky.filter(has('called flaky')).length, flaky.length),
    'broke (no result)': count(has('broke')),
    'escapes from the sandbox': count(({ escapes }) => escapes.length > 0),
    'files changed without being asked': count(({ changed }) => changed.length > 0),
    'forks per fix': mean('forks'),
    'seconds per fix': mean('seconds'),
  }
}

function report({ finished, ...row }) {
  const { group, mode, name, outcome, status, title = '', forks, seconds } = row
  console.log(
    `${outcome.padEnd(22)} ${mode} · ${group} · ${name} (${status}, ${forks} forks, ${seconds.toFixed(1)} s) ${title}`,
  )
  if (outcome === 'broke')
    console.log(`    ${finished.stderr.slice(-600) || finished.stdout.slice(-600)}`)
  for (const { title: what, wrong } of row.falseFixes)
    console.log(`    ${what}: wrong on ${wrong.join(', ')}`)
  for (const reason of row.rejected) console.log(`    rejected ${reason}`)
  if (row.escapes.length > 0) console.log(`    ESCAPED: ${row.escapes.join(', ')}`)
}

async function check(animals) {
  let bad = 0
  for (const animal of animals) {
    const problems = await checkAnimal(animal).catch((error) => [String(error)])
    console.log(`${problems.length === 0 ? 'ok ' : 'BAD'} ${animal.group} · ${animal.name}`)
    for (const problem of problems) console.log(`    ${problem}`)
    bad += problems.length > 0 ? 1 : 0
  }
  console.log(`${animals.length - bad} of ${animals.length} are as their tables say`)
  process.exitCode = bad === 0 ? 0 : 1
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      modes: { type: 'string', default: 'rules' },
      jobs: { type: 'string', default: '1' },
      check: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      rows: { type: 'string' },
    },
  })
  const modes = values.modes.split(',')
  const unknown = modes.find((mode) => !Object.hasOwn(MODES, mode))
  if (unknown !== undefined)
    throw new Error(`${unknown} is not a mode: ${Object.keys(MODES).join(', ')}`)
  const names = values.only?.split(',')
  const chosen = [...ZOO, ...HELD_OUT, ...WIDENED].filter(
    ({ name, group }) =>
      (names === undefined && !/^(?:held out|widened)$/.test(group)) ||
      names?.includes(name) ||
      names?.includes(group),
  )
  if (chosen.length === 0) throw new Error(`no animal is called ${values.only}`)
  if (values.check) return check(chosen)
  const file = values.rows
  const known = file !== undefined && existsSync(file) ? await readFile(file, 'utf8') : ''
  const rows = known
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .filter((row) => modes.includes(row.mode) && chosen.some(({ name }) => name === row.name))
  const missing = (animal) =>
    modes.filter((mode) => !rows.some((row) => row.name === animal.name && row.mode === mode))
  const waiting = chosen.filter((animal) => missing(animal).length > 0)
  const stop = new AbortController()
  process.once('SIGTERM', () => stop.abort())
  const work = async () => {
    for (
      let animal = waiting.shift();
      animal !== undefined && !stop.signal.aborted;
      animal = waiting.shift()
    ) {
      const { fix, close } = await recordAnimal(animal)
      try {
        for (const mode of missing(animal)) {
          if (stop.signal.aborted) break
          const result = await fix(mode)
          if (!values.json) report(result)
          const { finished: _finished, ...row } = result
          rows.push(row)
          if (file !== undefined) await appendFile(file, `${JSON.stringify(row)}\n`)
        }
      } finally {
        await close()
      }
    }
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, work))
  const tables = modes.map((mode) => ({
    mode,
    figures: summarize(rows.filter((row) => row.mode === mode)),
  }))
  if (values.json) return console.log(JSON.stringify({ tables, rows }))
  console.log(`\n| | ${modes.join(' | ')} |\n|---|${'---|'.repeat(modes.length)}`)
  for (const name of Object.keys(tables[0].figures))
    console.log(`| ${name} | ${tables.map(({ figures }) => figures[name]).join(' | ')} |`)
}

if (process.argv[1] === import.meta.filename) await main()
