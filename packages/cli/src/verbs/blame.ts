import { availableParallelism } from 'node:os'
import { openTape } from '@retake/tape/node'
import type { Step, Tape } from '@retake/tape'
import { Interruption } from '../bisect/interruption.js'
import { blameLines } from '../blame/blame-lines.js'
import { confirmCost } from '../blame/confirm-cost.js'
import { estimateLine, estimateSearch } from '../blame/estimate.js'
import type { Estimate } from '../blame/estimate.js'
import { writeFindings } from '../blame/findings-file.js'
import type { FindingsFile } from '../blame/findings-file.js'
import { LocalForkPool } from '../blame/fork-pool.js'
import { runFork } from '../blame/fork-run.js'
import { planInterventions } from '../blame/interventions/plan-interventions.js'
import { judgeRecording, searchedSteps, searchRun } from '../blame/search-run.js'
import type { Search } from '../blame/search-run.js'
import { validateBlame } from '../blame/validate-blame.js'
import { validatedLines } from '../blame/validated-lines.js'
import { blameNoSteps, wrongUsage } from '../errors.js'
import { FOUND } from '../exit-codes.js'
import { makeOracle } from '../oracle/make-oracle.js'
import { printable } from '../printable.js'
import { Progress } from '../progress.js'
import { RunStore } from '../run-store.js'
import { painter, widthOf } from '../terminal.js'
import { flag, text, texts } from '../verb.js'
import type { OptionValues, Verb } from '../verb.js'
import { wrap } from '../wrap.js'

const FORKS = 300

export const blame: Verb = {
  usage: '<run> --oracle <check> [options]',
  help: `Finds which steps together made a run fail. It runs the agent again and again,
each time with some steps held at what was recorded and the others free, and asks
an oracle whether that fails as well. Names the cause, what only repeats it, what
would have failed without it, and the steps that have nothing to do with it.
Exit code 3 when a cause was found, 1 when none could be named, 0 when the run
passes. Forks are stored: a search that was stopped goes on where it was.

Options:
  --oracle <check>  what passing means: exit:0, stdout:/regex/, json:path=value, a
                    shell command that gets stdout on stdin, a file; see docs/oracles.md
  --free <step>=<answer>
                    how a free step is answered, instead of asking it live; repeatable
  --simulator <file>
                    a module that answers free steps, for searches without a provider
  --max-forks <n>   run at most this many (default: ${FORKS})
  --max-usd <n>     spend at most this much
  --dry-run         only say what it would take
  --yes             do not ask before money is spent
  --jobs <n>        forks at a time (default: one per core)
  --timeout <s>     longest time for one fork (default: 120)
  --seed <n>        chooses what is audited; another one asks other forks (default: 1)
  --evidence        also every question that was put to forks
  --classic         also what asking about one step at a time would say
  --keep            keep the tapes of forks, for retake show and diff
  --env NAME=value  a variable that differs from the recorded one; repeatable
  --dir <folder>    where the tapes are (default: .retake/runs)
  --validate        instead: blame agents with known faults, and score that
  --json            what was found as JSON

Examples:
  retake blame last --oracle 'stdout:/DENIED/'
  retake blame last --oracle exit:0 --max-usd 2
  retake blame last --oracle ./refund-is-right.ts --free search_policy=neutral
  retake blame --validate`,
  options: {
    oracle: { type: 'string' },
    free: { type: 'string', multiple: true },
    simulator: { type: 'string' },
    'max-forks': { type: 'string' },
    'max-usd': { type: 'string' },
    'dry-run': { type: 'boolean' },
    yes: { type: 'boolean' },
    jobs: { type: 'string' },
    timeout: { type: 'string' },
    seed: { type: 'string' },
    evidence: { type: 'boolean' },
    classic: { type: 'boolean' },
    validate: { type: 'boolean' },
    keep: { type: 'boolean' },
    env: { type: 'string', multiple: true },
    dir: { type: 'string' },
  },
  async run(values, [name, ...rest]) {
    if (flag(values, 'validate')) return validate(values, name)
    if (name === undefined || rest.length > 0)
      throw usage('Name one run.', "For example: retake blame last --oracle 'stdout:/refunded/'.")
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    const interruption = new Interruption()
    try {
      const search = await readSearch(tape, values, interruption.signal)
      const passing = await judgeRecording(search, interruption.signal)
      if (passing.verdict === 'pass') return sayPassing(tape, passing.reason, values)
      const estimate = estimateSearch(search.steps, isPaidIn(search))
      for (const line of beforehand(search, estimate)) process.stderr.write(`${line}\n`)
      if (flag(values, 'dry-run')) return sayEstimate(tape, estimate, values)
      if (!flag(values, 'yes')) await confirmCost(estimate)
      const found = await withProgress(search)
      writeFindings(tape.path, found)
      print(found, values)
      interruption.throwIfAny()
      return found.findings.verdict === 'attributed' ? FOUND : 1
    } finally {
      interruption.stop()
    }
  },
}

const usage = (what: string, why: string): Error => wrongUsage('blame', what, why)

async function readSearch(tape: Tape, values: OptionValues, signal: AbortSignal): Promise<Search> {
  const given = text(values, 'oracle')
  if (given === undefined)
    throw usage('Say what failing means.', "For example: --oracle 'stdout:/refunded/', or exit:0.")
  const steps = searchedSteps(tape)
  if (steps.length === 0) throw blameNoSteps(tape.run.id)
  const maxUsd = numberOf(values, 'max-usd', { least: 0 })
  const free = texts(values, 'free')
  const simulator = text(values, 'simulator')
  const runs = new RunStore(text(values, 'dir'))
  const interventions = planInterventions(tape, steps, free, {
    runs,
    ...(simulator !== undefined && { simulator }),
  })
  return {
    tape,
    steps,
    oracle: await makeOracle(given, { verb: 'blame', recorded: tape }),
    free,
    interventions,
    env: variables(texts(values, 'env')),
    seed: numberOf(values, 'seed', { least: 0, whole: true }) ?? 1,
    pool: new LocalForkPool(jobsOf(values), runFork),
    maxForks: numberOf(values, 'max-forks', { least: 0, whole: true }) ?? FORKS,
    ...(maxUsd !== undefined && { maxUsd }),
    timeoutMs: (numberOf(values, 'timeout', { least: 0.001, most: 86_400 }) ?? 120) * 1000,
    classic: flag(values, 'classic'),
    signal,
  }
}

/** Agents with known faults, blamed through real forks. */
async function validate(values: OptionValues, name: string | undefined): Promise<number> {
  if (name !== undefined) throw usage('--validate takes no run.', 'It records its own.')
  const interruption = new Interruption()
  const progress = new Progress('recording agents with known faults')
  try {
    const pool = new LocalForkPool(jobsOf(values), runFork)
    let done = 0
    const validated = await validateBlame(pool, interruption.signal, () =>
      progress.say(`${++done} planted failures blamed`),
    )
    progress.stop()
    interruption.throwIfAny()
    const isGood = validated.every(({ isRight }) => isRight)
    const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
    console.log(
      flag(values, 'json')
        ? JSON.stringify({ good: isGood, faults: validated })
        : validatedLines(validated, look).join('\n'),
    )
    return isGood ? 0 : 1
  } finally {
    progress.stop()
    interruption.stop()
  }
}

const jobsOf = (values: OptionValues): number =>
  numberOf(values, 'jobs', { least: 1, most: 256, whole: true }) ?? availableParallelism()

/** Whether a step is asked live when it is free; where there is a simulator, it is taken to answer. */
const isPaidIn = ({ interventions: { live, simulator } }: Search): ((step: Step) => boolean) => {
  const labels = new Set(simulator === undefined ? live : [])
  return ({ label }) => labels.has(label)
}

/** What is said before anything is spent. */
function beforehand(search: Search, estimate: Estimate): string[] {
  const { describe, warnings } = search.interventions
  const width = widthOf(process.stderr)
  return [describe, ...warnings, estimateLine(estimate, search)].flatMap((line) =>
    wrap(printable(line), width),
  )
}

interface Range {
  readonly least: number
  readonly most?: number
  readonly whole?: boolean
}

function numberOf(values: OptionValues, name: string, range: Range): number | undefined {
  const given = text(values, name)
  if (given === undefined) return undefined
  const { least, most = Number.MAX_SAFE_INTEGER, whole = false } = range
  const number = Number(given)
  const isOne = whole ? /^\d+$/.test(given) : /^\d*\.?\d+$/.test(given)
  if (isOne && number >= least && number <= most) return number
  throw usage(`"${given}" is no number for --${name}.`, `It starts at ${least}.`)
}

function variables(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((each) => {
      const at = each.indexOf('=')
      if (at > 0) return [each.slice(0, at), each.slice(at + 1)]
      throw usage(`"${each}" sets no variable.`, 'Write it as --env NAME=value.')
    }),
  )
}

async function withProgress(search: Search): Promise<FindingsFile> {
  const progress = new Progress('the unchanged run')
  try {
    return await searchRun({
      ...search,
      onProgress: ({ forks, remaining, probe }) =>
        progress.say(`${forks} forks, about ${remaining} more: ${probe.purpose}`),
      onPause: (ms) =>
        progress.say(`the provider limits the rate: waiting ${Math.ceil(ms / 1000)} s`),
    })
  } finally {
    progress.stop()
  }
}

function print(found: FindingsFile, values: OptionValues): void {
  const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
  console.log(
    flag(values, 'json')
      ? JSON.stringify(found)
      : blameLines(found, look, { evidence: flag(values, 'evidence') }).join('\n'),
  )
}

function sayPassing(tape: Tape, reason: string, values: OptionValues): number {
  console.log(
    flag(values, 'json')
      ? JSON.stringify({ run: tape.run.id, verdict: 'passes', reason, forks: 0 })
      : `nothing to blame: the run passes (${printable(reason)}). No fork was run.`,
  )
  return 0
}

function sayEstimate(tape: Tape, estimate: Estimate, values: OptionValues): number {
  if (flag(values, 'json')) console.log(JSON.stringify({ run: tape.run.id, estimate }))
  return 0
}
