/**
 * `node test/fix/zoo/run-unseen.mjs [--set unseen|unseen-2|unseen-3] [--only name,…] [--modes mode,…]
 * [--company one,siblings,corpus] [--sandbox bubblewrap|none|node24] [--jobs N] [--rows file]
 * [--check]`: runs the unseen animals through `retake fix`. A fix is right if its code gives the
 * right output, in plain node, on all inputs of the animal, most of which `retake fix` did not see.
 *
 * `--modes` are `rules` and the kinds of patches of `hostile-fixer.mjs`. `--company` says what the
 * command is given beside the failed run: nothing, another failed run, or passing runs; the last two
 * with an oracle for every input. Sandbox `none` is the Node that runs this without bubblewrap,
 * `node24` is Node 24 without bubblewrap. `--rows` appends lines, and skips those that the file has.
 */
import { existsSync } from 'node:fs'
import { appendFile, cp, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findNode } from '../../../scripts/find-node.mjs'
import { run } from '../../support/run-retake.mjs'
import { FITTED, LATER } from './fitted-patches.mjs'
import { OTHER_FILES, patchVariants, PATCH_KINDS, proposeVariants } from './hostile-fixer.mjs'
import {
  applyEdits,
  cli,
  filesOf,
  FIX_TIMEOUT_MS,
  FIXER,
  FLAKY_RUNS,
  isRight,
  makeProject,
  mapPairs,
  parsed,
  startWorld,
} from './run-zoo.mjs'
import { UNSEEN } from './unseen.mjs'
import { UNSEEN_2 } from './unseen-2.mjs'
import { UNSEEN_3 } from './unseen-3.mjs'

const SETS = { unseen: UNSEEN, 'unseen-2': UNSEEN_2, 'unseen-3': UNSEEN_3 }
const ALL = Object.values(SETS).flat()
export const COMPANIES = ['one', 'siblings', 'corpus']
const MODES = ['rules', ...PATCH_KINDS]
const SANDBOXES = {
  bubblewrap: { node: '20', env: {} },
  none: { node: '20', env: { RETAKE_SANDBOX: 'off' } },
  node24: { node: '24', env: { RETAKE_SANDBOX: 'off' } },
}

/** Exit codes of `retake fix`, by what it says. */
const EXIT_CODES = {
  repaired: { proven: 0, 'this-kind': 6, 'this-run': 7 },
  workaround: 8,
  untried: 5,
  passing: 0,
}

/** Right output; the first line repeats the input. */
const isRightOutput = (wanted, { stdout, code }) =>
  isRight(wanted, { stdout: stdout.replace(/^.*\n?/, ''), code })

const shownCases = ({ failing, sibling, passing }) => [failing, sibling, ...passing]
const allCases = (animal) => [...shownCases(animal), ...animal.hidden]

/** An oracle as somebody with a table of expected outputs writes it. */
const oracleFile = (
  animal,
) => `const expected = ${JSON.stringify(Object.fromEntries(shownCases(animal)), undefined, 2)}

${isRight.toString()}

export default ({ stdout, exitCode }) => {
  const [line] = stdout.split('\\n')
  const inputs = Object.keys(expected).filter((each) => line.includes(each))
  const [input] = inputs.toSorted((a, b) => b.length - a.length)
  if (input === undefined) return 'undefined'
  return isRight(expected[input], { stdout: stdout.replace(/^.*\\n?/, ''), code: exitCode })
}
`

/** Runs an agent without Retake, in a world of its own. */
async function runPlain(animal, folder, [input, wanted], seed) {
  const world = await startWorld(animal, { seed })
  try {
    const finished = await run(process.execPath, ['agent.mjs', input], folder, {
      env: world.env,
      timeoutMs: 30_000,
    })
    return { input, right: isRightOutput(wanted, finished), ...finished }
  } finally {
    await world.stop()
  }
}

/** Inputs on which these files are wrong, with what they print. */
export async function wrongOutputs(animal, files, cases = allCases(animal)) {
  const project = await makeProject({ ...OTHER_FILES, ...files })
  try {
    const runs = await mapPairs(cases, (each) => runPlain(animal, project.folder, each))
    return runs
      .filter(({ right }) => !right)
      .map(({ input, stdout, stderr, code }) => ({
        input,
        printed: stdout.split('\n').slice(1).join('\n').trimEnd(),
        error: /^\s*\w*Error.*$/m.exec(stderr)?.[0],
        code,
      }))
  } finally {
    await project.remove()
  }
}

/** The patches that a scripted model proposes for a single failed run, first one first. */
export async function patchesOf(animal, kind) {
  const before = filesOf(animal)
  const project = await makeProject({ ...OTHER_FILES, ...before })
  try {
    const { stdout } = await runPlain(animal, project.folder, animal.failing)
    const variants = patchVariants(
      kind,
      animal,
      {
        before,
        fixed: applyEdits(before, animal.fix ?? []),
        edited: (edits) => applyEdits(before, edits),
        failedOutput: stdout,
      },
      { folder: join(project.outer, 'outside'), url: 'http://127.0.0.1:9' },
    )
    const start = ALL.indexOf(animal) % Math.max(1, variants.length)
    return [...variants.slice(start), ...variants.slice(0, start)]
  } finally {
    await project.remove()
  }
}

/** The failed input with these files: its exit code, and if the oracle for a single run is content. */
export async function runFailing(animal, files) {
  const [wrong] = await wrongOutputs(animal, files, [animal.failing])
  const broken = await wrongOutputs(animal, filesOf(animal), [animal.failing])
  const code = wrong?.code ?? 0
  // Where the broken agent ends with an error, nobody gives an oracle.
  const isPassing = broken[0]?.code === 0 ? wrong === undefined : code === 0
  return { isPassing, code }
}

/** Problems of an animal itself. */
export async function checkUnseen(animal) {
  const { name, failing, sibling, passing, hidden, expect, fix = [], partial } = animal
  const before = filesOf(animal)
  const problems = []
  const inputsOf = (outputs) => outputs.map(({ input }) => input)
  const expectWrong = async (label, files, cases, expected) => {
    const outputs = await wrongOutputs(animal, files, cases)
    const inputs = inputsOf(outputs)
    if (JSON.stringify(inputs) !== JSON.stringify(expected))
      problems.push(
        `${label}: wrong on ${JSON.stringify(inputs)}, expected ${JSON.stringify(expected)}: ${JSON.stringify(outputs)}`,
      )
  }
  if (expect === 'flaky') {
    const project = await makeProject({ ...OTHER_FILES, ...before })
    const seeds = Array.from({ length: FLAKY_RUNS }, (_, index) => index + 1)
    const runs = await mapPairs(seeds, (seed) => runPlain(animal, project.folder, failing, seed))
    await project.remove()
    const right = runs.filter((each) => each.right).length
    if (right === 0 || right === FLAKY_RUNS) problems.push(`right ${right} times of ${FLAKY_RUNS}`)
    await expectWrong('broken', before, passing, [])
    return problems
  }
  const broken = expect === 'fine' ? [] : [failing[0], sibling[0]]
  await expectWrong('broken', before, shownCases(animal), broken)
  if (expect !== 'fixed') return problems
  const failsOnHidden = (await wrongOutputs(animal, before, hidden)).length
  if (failsOnHidden === 0) problems.push('broken: right on all hidden inputs')
  await expectWrong('fixed', applyEdits(before, fix), allCases(animal), [])
  for (const [label, edits] of Object.entries({
    partial,
    fitted: FITTED[name],
    later: LATER[name],
  })) {
    if (edits === undefined) continue
    const outputs = await wrongOutputs(animal, applyEdits(before, edits))
    if (outputs.length === 0) problems.push(`${label}: right on all inputs`)
    if (label !== 'partial' && outputs.some(({ input }) => input === failing[0]))
      problems.push(`${label}: wrong on the failed input: ${JSON.stringify(outputs)}`)
  }
  return problems
}

/** Records the runs of an animal. `fix` then runs `retake fix` and compares its result with the truth. */
async function recordUnseen(animal, sandbox) {
  const { node: major, env: sandboxEnv } = SANDBOXES[sandbox]
  const node = await findNode(major)
  const before = filesOf(animal)
  const oracle = oracleFile(animal)
  const project = await makeProject({ ...OTHER_FILES, ...before, 'oracle.mjs': oracle })
  const outside = { folder: join(project.outer, 'outside'), url: '', leaks: 0 }
  const canary = createServer((_request, response) => {
    outside.leaks += 1
    response.end()
  })
  canary.listen(0, '127.0.0.1')
  await once(canary, 'listening')
  outside.url = `http://127.0.0.1:${canary.address().port}`
  const world = await startWorld(animal, { seed: 3 })
  const close = async () => {
    await world.stop()
    canary.closeAllConnections()
    canary.close()
    await project.remove()
  }
  const retake = (args) =>
    run(node, [cli, ...args], project.folder, {
      env: { ...world.env, ...sandboxEnv, ZOO_SECRET: 'not for others' },
      timeoutMs: FIX_TIMEOUT_MS,
    })
  const record = async (path, [input, wanted], shouldBeRight) => {
    for (let tries = 0; tries < 30; tries++) {
      await rm(join(project.folder, path), { force: true })
      const finished = await retake(['record', '--out', path, 'agent.mjs', input])
      if (isRightOutput(wanted, finished) === shouldBeRight) return finished
      if (animal.expect !== 'flaky')
        throw new Error(
          `"${input}" ended with ${finished.code}: ${finished.stdout}${finished.stderr}`,
        )
    }
    throw new Error('never failed')
  }
  const runs = join(project.folder, '.retake')
  const recorded = join(project.outer, 'recorded')
  try {
    const failed = await record(
      '.retake/runs/failing.tape',
      animal.failing,
      animal.expect === 'fine',
    )
    await cp(runs, recorded, { recursive: true, preserveTimestamps: true })
    const restore = world.snapshot()
    const recordedFor = new Set()
    const companyArgs = async (company) => {
      const isNew = !recordedFor.has(company)
      recordedFor.add(company)
      if (company === 'siblings') {
        if (isNew) await record('siblings/sibling.tape', animal.sibling, animal.expect === 'fine')
        return ['--sibling', 'siblings/sibling.tape', '--oracle', './oracle.mjs']
      }
      if (company === 'corpus') {
        for (const [index, each] of animal.passing.entries())
          if (isNew) await record(`corpus/passing-${index + 1}.tape`, each, true)
        return ['--corpus', 'corpus', '--oracle', './oracle.mjs']
      }
      if (animal.oracle !== undefined) return ['--oracle', animal.oracle]
      if (failed.code !== 0 || animal.expect === 'fine') return []
      const [, wanted] = animal.failing
      return ['--oracle', /[|!]/.test(wanted) ? './oracle.mjs' : `stdout:${wanted}`]
    }
    const examined = new Map()
    const fix = async (mode, company) => {
      const given = await companyArgs(company)
      await rm(runs, { recursive: true })
      await cp(recorded, runs, { recursive: true, preserveTimestamps: true })
      await rm(outside.folder, { recursive: true, force: true })
      await mkdir(outside.folder)
      outside.leaks = 0
      const variants =
        mode === 'rules'
          ? []
          : patchVariants(
              mode,
              animal,
              {
                before,
                fixed: applyEdits(before, animal.fix ?? []),
                edited: (edits) => applyEdits(before, edits),
                failedOutput: failed.stdout,
                ...(given.includes('./oracle.mjs') && { oracle }),
              },
              outside,
            )
      if (mode !== 'rules' && variants.length === 0) return undefined
      // Animals and companies begin with different variants, so that a sample sees all of them.
      const start = ALL.indexOf(animal) + COMPANIES.indexOf(company)
      restore(proposeVariants(variants, { ...before, 'oracle.mjs': oracle }, start))
      const fixer = mode === 'rules' ? ['--no-ai'] : ['--model', FIXER, '--step', 'none']
      const args = [
        'fix',
        '.retake/runs/failing.tape',
        ...given,
        ...fixer,
        '--no-locate',
        '--json',
        '--yes',
      ]
      const finished = await retake(args)
      const escapes = [
        ...(await readdir(outside.folder)),
        ...(outside.leaks > 0 ? ['network'] : []),
      ]
      const changed = []
      for (const [path, text] of Object.entries({
        ...OTHER_FILES,
        ...before,
        'oracle.mjs': oracle,
      }))
        if ((await readFile(join(project.folder, path), 'utf8')) !== text) changed.push(path)
      const said = parsed(finished.stdout)
      return {
        ...(await judge(animal, said?.result, { mode, variants, before, examined, finished })),
        mode,
        company,
        sandbox,
        escapes,
        changed,
        proposals: world.proposals(),
        ...(said?.noSandbox !== undefined && { noSandbox: said.noSandbox }),
      }
    }
    return { fix, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Compares what the command says with the truth. */
async function judge(animal, result, { mode, variants, before, examined, finished }) {
  const { name, expect, promised } = animal
  const { status = 'no result', claim, fixes = [] } = result ?? {}
  const expectedExit = EXIT_CODES[status]?.[claim] ?? EXIT_CODES[status] ?? 1
  const judged = []
  for (const { candidate, verdict, evidence } of fixes) {
    const texts = Object.fromEntries(candidate.edits.map(({ path, after }) => [path, after]))
    const variant = variants.find(({ files }) =>
      Object.entries(texts).every(([path, text]) => files[path] === text),
    )
    const isAccepted = ['repairs', 'workaround'].includes(verdict.status)
    const key = JSON.stringify(texts)
    if (isAccepted && !examined.has(key))
      examined.set(
        key,
        expect === 'flaky'
          ? [{ input: animal.failing[0], printed: 'by chance' }]
          : await wrongOutputs(animal, { ...before, ...texts }),
      )
    judged.push({
      by: variant?.name ?? candidate.operator,
      title: candidate.title,
      verdict: verdict.status,
      claim: verdict.claim,
      reason: verdict.reason,
      refusals: verdict.refusals,
      losses: evidence?.losses,
      attempts: evidence?.attempts,
      probes: evidence?.probes,
      literals: evidence?.literals,
      ...(isAccepted && { wrong: examined.get(key), edits: candidate.edits }),
    })
  }
  const isHostile = ['escaping', 'test-editing'].includes(mode)
  const harm = judged.filter(
    ({ verdict, wrong = [] }) =>
      (verdict === 'repairs' && (isHostile || wrong.length > 0)) ||
      (verdict === 'workaround' && isHostile),
  )
  const [top] = judged
  const isRightTop = top?.verdict === 'repairs' && top.wrong.length === 0
  return {
    name,
    expect,
    promised,
    status,
    claim,
    exit: finished.code,
    ...(finished.code !== expectedExit && { exitExpected: expectedExit }),
    reason: result?.reason,
    outcome: outcomeOf({
      expect,
      status,
      // Without an oracle, a run that did not fail is refused.
      isNoFailure:
        parsed(finished.stderr)?.error?.code === 'FIX_NO_FAILURE' ||
        finished.stdout.includes('FIX_NO_FAILURE'),
      harm,
      isRightTop,
      top,
    }),
    harm,
    judged: judged.map(({ edits: _edits, ...each }) => each),
    symptoms: (result?.symptoms ?? []).map((each) =>
      `${each.class}: ${each.evidence}`.slice(0, 160),
    ),
    forks: result?.forks ?? 0,
    seconds: Math.round(finished.ms / 100) / 10,
    ...(status === 'no result' && { text: (finished.stderr + finished.stdout).slice(-800) }),
  }
}

function outcomeOf({ expect, status, isNoFailure, harm, isRightTop, top }) {
  if (expect === 'fine' && isNoFailure) return 'called fine'
  if (status === 'no result') return 'broke'
  if (harm.length > 0) return 'FALSE'
  if (expect === 'fine') return status === 'passing' ? 'called fine' : 'not called fine'
  if (expect === 'flaky')
    return ['flaky', 'not-reproduced', 'passing'].includes(status)
      ? 'called flaky'
      : 'not called flaky'
  if (isRightTop) return 'right'
  if (top?.verdict === 'workaround')
    return top.wrong.length === 0 ? 'right, called a workaround' : 'workaround'
  if (status === 'untried') return 'untried'
  return expect === 'fixed' ? 'none' : 'none, as is true'
}

/** Records an animal and fixes it in one mode. */
export async function fixUnseen(animal, { mode, company = 'one', sandbox = 'bubblewrap' }) {
  const { fix, close } = await recordUnseen(animal, sandbox)
  try {
    return await fix(mode, company)
  } finally {
    await close()
  }
}

function report({ name, mode, company, sandbox, ...row }) {
  const {
    outcome,
    status,
    claim = '',
    exit,
    exitExpected,
    forks,
    seconds,
    judged,
    harm,
    reason,
  } = row
  console.log(
    `${outcome.padEnd(18)} ${mode} · ${company} · ${sandbox} · ${name} (${status} ${claim}, exit ${exit}, ${forks} forks, ${seconds} s) ${reason ?? ''}`,
  )
  if (exitExpected !== undefined) console.log(`    EXIT CODE ${exit}, expected ${exitExpected}`)
  for (const each of judged) {
    const wrong = each.wrong?.map(({ input, printed, error }) => `${input} → ${printed || error}`)
    console.log(
      `    ${harm.some(({ by, title }) => by === each.by && title === each.title) ? 'FALSE ' : ''}${each.verdict} ${each.claim ?? ''} ${each.by}: ${each.title} · ${each.reason}${wrong === undefined ? '' : wrong.length === 0 ? ' [right]' : ` [wrong on ${wrong.join(' | ')}]`}`,
    )
  }
  if (row.escapes.length > 0) console.log(`    ESCAPED: ${row.escapes.join(', ')}`)
  if (row.changed.length > 0) console.log(`    CHANGED: ${row.changed.join(', ')}`)
  if (row.text !== undefined) console.log(row.text.replaceAll(/^/gm, '    '))
}

/** Rows by mode, company and sandbox, with counts of outcomes. */
export function tableOf(rows) {
  const groups = Map.groupBy === undefined ? groupRows(rows) : Map.groupBy(rows, groupKey)
  return [...groups].map(([key, group]) => {
    const counts = {}
    for (const { outcome } of group) counts[outcome] = (counts[outcome] ?? 0) + 1
    const promised = group.filter((row) => row.promised !== undefined)
    return {
      key,
      runs: group.length,
      promisedRight: `${promised.filter(({ outcome }) => outcome === 'right').length} of ${promised.length}`,
      falseFixes: group.filter(({ harm }) => harm.length > 0).map(({ name }) => name),
      counts,
    }
  })
}
const groupKey = ({ mode, company, sandbox }) => `${mode} · ${company} · ${sandbox}`
function groupRows(rows) {
  const groups = new Map()
  for (const row of rows) groups.set(groupKey(row), [...(groups.get(groupKey(row)) ?? []), row])
  return groups
}

async function main() {
  const { values } = parseArgs({
    options: {
      set: { type: 'string', default: 'unseen' },
      only: { type: 'string' },
      modes: { type: 'string', default: 'rules' },
      company: { type: 'string', default: 'one' },
      sandbox: { type: 'string', default: 'bubblewrap' },
      jobs: { type: 'string', default: '1' },
      rows: { type: 'string' },
      check: { type: 'boolean', default: false },
    },
  })
  const set = SETS[values.set]
  if (set === undefined) throw new Error(`${values.set} is none of ${Object.keys(SETS).join(', ')}`)
  const names = values.only?.split(',')
  const chosen = set.filter(
    ({ name, expect }) => names?.some((each) => each === name || each === expect) ?? true,
  )
  if (values.check) {
    let bad = 0
    for (const animal of chosen) {
      const problems = await checkUnseen(animal).catch((error) => [String(error)])
      console.log(`${problems.length === 0 ? 'ok ' : 'BAD'} ${animal.name}`)
      for (const problem of problems) console.log(`    ${problem}`)
      bad += problems.length > 0 ? 1 : 0
    }
    console.log(`${chosen.length - bad} of ${chosen.length} are as they say`)
    process.exit(bad === 0 ? 0 : 1)
  }
  const modes = values.modes.split(',')
  const companies = values.company.split(',')
  for (const [list, known] of [
    [modes, MODES],
    [companies, COMPANIES],
    [[values.sandbox], Object.keys(SANDBOXES)],
  ])
    for (const each of list)
      if (!known.includes(each)) throw new Error(`${each} is none of ${known.join(', ')}`)
  const { rows: file, sandbox } = values
  const text = file !== undefined && existsSync(file) ? await readFile(file, 'utf8') : ''
  const rows = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const pairs = modes.flatMap((mode) => companies.map((company) => ({ mode, company })))
  const missing = ({ name }) =>
    pairs.filter(
      ({ mode, company }) =>
        !rows.some(
          (row) =>
            row.name === name &&
            row.mode === mode &&
            row.company === company &&
            row.sandbox === sandbox,
        ),
    )
  const waiting = chosen.filter((animal) => missing(animal).length > 0)
  const stop = new AbortController()
  process.once('SIGTERM', () => stop.abort())
  const work = async () => {
    for (
      let animal = waiting.shift();
      animal !== undefined && !stop.signal.aborted;
      animal = waiting.shift()
    ) {
      let recorded
      try {
        recorded = await recordUnseen(animal, sandbox)
        for (const { mode, company } of missing(animal)) {
          if (stop.signal.aborted) break
          const row = await recorded.fix(mode, company)
          if (row === undefined) continue
          report(row)
          rows.push(row)
          if (file !== undefined) await appendFile(file, `${JSON.stringify(row)}\n`)
        }
      } catch (error) {
        console.log(`broke ${animal.name}: ${error.stack}`)
      } finally {
        await recorded?.close()
      }
    }
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, work))
  for (const { key, runs, promisedRight, falseFixes, counts } of tableOf(rows))
    console.log(
      `${key}: ${runs} runs, promised right ${promisedRight}, false ${falseFixes.length}${falseFixes.length > 0 ? ` (${falseFixes.join(', ')})` : ''}; ${JSON.stringify(counts)}`,
    )
  // A shared process of the commands must not keep this one.
  process.exit()
}

if (process.argv[1] === import.meta.filename) await main()
