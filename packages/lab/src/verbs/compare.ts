import { breakageText } from '../texts/breakage.js'
import { inFolder, checkContinuable, refuseProxyRun, requireTrust } from '@retake/runner/agent'
import { mapConcurrent, type Tape, defined, sumKnown } from '@retake/tape'
import { mostFrequent } from '@retake/runner/command-line'
import {
  NODE_PROGRAM_OPTIONS,
  type Options,
  usageError,
  type Verb,
} from '@retake/runner/command-line'
import { readFileSync } from 'node:fs'
import path from 'node:path'

import { planFork } from '@retake/engine/plans'
import { cost, count, duration, plural } from '@retake/tape/present'
import { checkPriced, confirmCost } from '@retake/runner/command-line'
import { Interruption } from '@retake/runner/command-line'
import {
  shareInterval,
  runTrial,
  StoredTrials,
  tailCost,
  type LiveTrial,
  trialFigures,
  type LiveTrialOptions,
  writeTrialTable,
} from '../compare/live-trials.js'
import { project } from '@retake/runner/config'
import { cliErrors } from '@retake/runner/errors'
import { givenOracle, ORACLE_OPTIONS, readOutcome } from '@retake/runner/oracle'
import {
  fromHere,
  type Look,
  printable,
  Progress,
  tableLines,
  linesOf,
} from '@retake/runner/terminal'
import { comparisonFolderOf, findStep, viewRun } from '@retake/runner/runs'

const TIMES = 5
const TIMEOUT_S = 300
/** A variant is given up after this many refusals in a row. */
const FAILURES_MAX = 2

/** One row of the table: the change to every live request. */
interface Variant {
  readonly name: string
  readonly model?: string
  readonly prompt?: string
}

interface ComparedRow extends ReturnType<typeof trialFigures> {
  readonly name: string
  readonly note?: string
  readonly difference?: string
  readonly tapes: readonly string[]
}

export default {
  arguments: '<run>',
  tooMany: 'To compare two runs: `retake diff <run> <run>`.',
  description: `Forks the run at step N with each model or system prompt, several times, and prints
a table: how many forks passed, with a 95 % interval that is valid at any stopping time, cost,
time, and the first difference from the recorded run. Everything before step N is served from the
tape.

A tool call or request that may have an effect gets its recorded answer if it is identical.
Otherwise the fork ends there, unless you add --live-tools.

Results are stored beside the tape, and an interrupted command continues where it stopped.

To compare two runs, use \`retake diff\`.`,
  options: {
    '--at <N>': 'the first step that is sent again (required)',
    '--models <a,b,c>': 'models to compare, by the names that the provider knows',
    '--prompt <file>...': 'system prompt to compare; repeatable',
    '--times <n>': `forks for each row (default: ${TIMES})`,
    ...ORACLE_OPTIONS,
    '--max-usd <n>': 'start no fork that would exceed this cost',
    '--yes': 'spend money without confirmation',
    '--live-tools': 'run tools and send requests that may have an effect',
    '--fresh': 'ignore stored results',
    '--timeout <s>': `maximum time for one fork (default: ${TIMEOUT_S})`,
    '--jobs <n>': 'number of forks at a time (default: one per core)',
    '--env <NAME=value>...': 'set a variable that differs from the recording; repeatable',
    ...NODE_PROGRAM_OPTIONS,
  },
  examples: [
    'retake compare last --at 2 --models gpt-5-mini,gpt-5-nano --oracle exit:0',
    'retake compare last --at 1 --prompt old.md --prompt new.md --oracle exit:0',
  ],
  async run(options, [name = '']) {
    const variants = readVariants(options)
    const times = options.number('times', { least: 1, most: 10_000 }) ?? TIMES
    const jobs = options.jobs()
    const maxUsd = options.number('max-usd', { fraction: true })
    const timeoutMs = options.timeoutMs(TIMEOUT_S)
    const tape = options.openRun(name)
    requireTrust(tape)
    refuseProxyRun(tape)
    const oracle = await givenOracle(options, undefined, project().oracle)
    if (oracle === undefined)
      throw usageError('Missing option --oracle <check>.', 'It decides which forks pass.')
    const step = findStep(viewRun(tape), options.text('at') ?? '')
    const env = options.variables()
    checkContinuable(tape, planFor(tape, step.label, variants[0], options), env)
    const stored = new StoredTrials(comparisonFolderOf(tape.path), { fresh: options.flag('fresh') })
    const keyOf = (variant: Variant, index: number): readonly unknown[] => [
      step.label,
      { ...variant, name: undefined },
      options.flag('live-tools'),
      oracle.key,
      index,
    ]
    const cells = variants.flatMap((variant) =>
      Array.from({ length: times }, (_, index) => ({ variant, index })),
    )
    const missing = cells.filter(({ variant, index }) => !stored.get(keyOf(variant, index)))
    const costs = new Map(
      variants.map((variant) => [variant.name, tailCost(tape, step.seq, variant.model)]),
    )
    const missingCosts = missing.map(({ variant }) => costs.get(variant.name))
    const estimate = {
      tokens: missingCosts.reduce((sum, each) => sum + (each?.tokens ?? 0), 0),
      ...defined({ costUsd: sumKnown(missingCosts.map((each) => each?.costUsd)) }),
    }
    checkPriced(estimate, maxUsd)
    const price =
      estimate.costUsd === undefined ? 'cost unknown' : `about ${cost(estimate.costUsd)}`
    process.stderr.write(
      `${[
        plural(variants.length, 'row'),
        plural(missing.length, 'fork'),
        ...(missing.length < cells.length ? [`${cells.length - missing.length} stored`] : []),
        ...(missing.length > 0 ? [`about ${count(estimate.tokens)} tokens`, price] : []),
        ...(maxUsd === undefined ? [] : [`at most $${maxUsd}`]),
      ].join(' · ')}\n`,
    )
    if (missing.length > 0 && !options.flag('yes')) await confirmCost(estimate)
    using interruption = new Interruption()
    using progress = new Progress(`0 of ${missing.length} forks`)
    const failures = new Map<string, { count: number; why: string }>()
    let [done, spentUsd] = [0, 0]
    let isOutOfBudget = false
    const trialOptions: LiveTrialOptions = {
      oracle,
      signal: interruption.signal,
      timeoutMs,
      env,
      nodeArgs: options.texts('node-arg'),
    }
    const runCell = async ({ variant, index }: (typeof cells)[number]): Promise<void> => {
      const failed = failures.get(variant.name)
      const next = costs.get(variant.name)?.costUsd ?? 0
      if (maxUsd !== undefined && spentUsd + next > maxUsd) isOutOfBudget = true
      if (isOutOfBudget || (failed?.count ?? 0) >= FAILURES_MAX) return
      // Reserved now, because other forks start meanwhile.
      spentUsd += next
      const plan = inFolder(planFor(tape, step.label, variant, options), stored.folder)
      const trial = await runTrial(tape, plan, trialOptions)
      spentUsd += (trial.costUsd ?? next) - next
      if (trial.broke === undefined) failures.delete(variant.name)
      else
        failures.set(variant.name, {
          count: (failed?.count ?? 0) + 1,
          why: breakageText(trial.broke),
        })
      stored.add(keyOf(variant, index), trial)
      progress.say(`${++done} of ${missing.length} forks · ${cost(spentUsd)}`)
    }
    try {
      await mapConcurrent(missing, jobs, runCell)
    } catch (error) {
      if (!interruption.signal.aborted) throw error
    }
    progress.stop()
    const rows = variants.map((variant): ComparedRow => {
      const trials = Array.from({ length: times }, (_, index) =>
        stored.get(keyOf(variant, index)),
      ).filter((trial) => trial !== undefined)
      return rowOf(variant, trials, times, {
        failure: failures.get(variant.name)?.why,
        isOutOfBudget,
      })
    })
    const recorded = await oracle(readOutcome(tape), new AbortController().signal)
    writeTrialTable(tape, { at: step.label, oracle: oracle.text, rows })
    options.print(
      { run: tape.run.id, at: step.label, oracle: oracle.text, recorded, times, spentUsd, rows },
      (look) => comparedLines(tape, rows, { recorded: recorded.verdict, spentUsd }, look),
      2,
    )
    interruption.throwIfAny()
    return rows.some(({ judged }) => judged > 0) ? 0 : 1
  },
} satisfies Verb

function planFor(tape: Tape, at: string, variant: Variant | undefined, options: Options) {
  return planFork(tape, {
    at,
    ...(variant?.model !== undefined && { everyRequest: { model: variant.model } }),
    ...(variant?.prompt !== undefined && { systemPrompt: variant.prompt }),
    effects: options.flag('live-tools') ? 'live' : 'served',
  })
}

function readVariants(options: Options): Variant[] {
  const models = (options.text('models') ?? '').split(',').flatMap((each) => each.trim() || [])
  const prompts = options.texts('prompt').map((file) => ({
    file: fromHere(path.resolve(file)),
    text: readPrompt(file),
  }))
  if (models.length === 0 && prompts.length === 0)
    throw usageError('Nothing to compare.', 'Give --models a,b,c or --prompt <file>.')
  const twice = [...models, ...prompts.map(({ file }) => file)].find(
    (each, index, all) => all.indexOf(each) < index,
  )
  if (twice !== undefined) throw usageError(`${twice} is given twice.`, 'Each row is one of them.')
  if (prompts.length === 0) return models.map((model) => ({ name: model, model }))
  if (models.length === 0) return prompts.map(({ file, text }) => ({ name: file, prompt: text }))
  return models.flatMap((model) =>
    prompts.map(({ file, text }) => ({ name: `${model} ${file}`, model, prompt: text })),
  )
}

function readPrompt(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw cliErrors.RESPONSE_UNREADABLE(file, error)
  }
}

function rowOf(
  { name, model, prompt }: Variant,
  trials: readonly LiveTrial[],
  times: number,
  why: { readonly failure: string | undefined; readonly isOutOfBudget: boolean },
): ComparedRow {
  const missing = times - trials.length
  const refused = trials.find((trial) => trial.refused !== undefined)?.refused
  const undecided = trials.find(({ verdict }) => verdict === 'undefined')?.reason
  const unchanged = trials.some(({ changed }) => changed && changed.edited < changed.requests)
  const what =
    prompt === undefined
      ? 'model in its body'
      : model === undefined
        ? 'system prompt'
        : 'model and system prompt in its body'
  const notes = linesOf(
    missing > 0 &&
      `${missing} missing: ${why.failure ?? (why.isOutOfBudget ? 'out of budget' : 'stopped')}`,
    refused !== undefined && `would do: ${refused} (--live-tools)`,
    refused === undefined && undecided !== undefined && `undecided: ${undecided}`,
    unchanged && `not every request has a ${what}`,
  )
  const [difference] = mostFrequent(trials.flatMap((trial) => trial.difference ?? []))
  return {
    name,
    ...trialFigures(trials),
    ...(notes.length > 0 && { note: notes.join('; ') }),
    ...(difference !== undefined && { difference }),
    tapes: trials.flatMap(({ tape }) => tape ?? []),
  }
}

function comparedLines(
  tape: Tape,
  rows: readonly ComparedRow[],
  { recorded, spentUsd }: { readonly recorded: string; readonly spentUsd: number },
  { paint, width }: Look,
): string[] {
  const head = ['', 'passed', '95 %', 'cost', 'time', 'first difference']
  const cells = rows.map((row) => [
    printable(row.name),
    row.judged === 0 ? '–' : `${row.passed} of ${row.judged}`,
    row.interval === undefined ? '' : shareInterval(row.interval),
    row.trials === 0 ? '' : row.costUsd === undefined ? 'unknown' : cost(row.costUsd / row.trials),
    row.medianMs === undefined ? '' : duration(row.medianMs),
    printable(row.difference ?? ''),
  ])
  return [
    ...tableLines([head, ...cells], width),
    ...rows
      .filter(({ note }) => note !== undefined)
      .map(({ name, note }) => `${paint('yellow', 'note')}  ${printable(`${name}: ${note}`)}`),
    '',
    `recorded run ${tape.run.id}: ${recorded} · spent ${cost(spentUsd)}`,
  ]
}
