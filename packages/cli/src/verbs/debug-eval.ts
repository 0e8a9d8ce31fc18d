import {
  type Options,
  usageError,
  type Verb,
  NODE_PROGRAM_OPTIONS,
} from '@retake/runner/command-line'
import { refuseImported } from '@retake/engine/runs'
import { ALL_RUNS_OPTIONS, chooseRuns, type ChosenRun, inspectRuns } from '@retake/runner/debug'
import { ORACLE_OPTIONS } from '@retake/runner/oracle'
import {
  IN_FULL,
  type LineHit,
  type WatchedLine,
  type WatchLineOptions,
} from '@retake/engine/inspect'
import { firstIndex, type Tape } from '@retake/tape'
import { codeToShow, RecordedCode, sourceFile } from '@retake/runner/sources'
import { checkExpression } from '@retake/runner/debug'
import { cliErrors } from '@retake/runner/errors'
import {
  fromHere,
  type Look,
  painter,
  printable,
  printJson,
  tableLines,
} from '@retake/runner/terminal'
import { checkEnd, explainingDivergence, withProbe } from '@retake/runner/debug'
import { viewRun } from '@retake/runner/runs'
import { readFileSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'

export default {
  arguments: '<run> [expression]',
  description: `Replays the program offline and evaluates the expression each time the line is
about to run, like a log statement added afterwards. \`retake eval\` is short for it. An expression
with side effects fails: its error is printed, and the run is not affected.

With --all, does this for every recorded run, in parallel; the only argument is the expression.
--by outcome counts in how many failed and passed runs each value occurred.`,
  options: {
    '--all': 'every run of the folder instead of one',
    '--by <outcome>': 'with --all: count values by the outcome of the run',
    ...ALL_RUNS_OPTIONS,
    ...ORACLE_OPTIONS,
    '--at <file:line>': 'the line; the file is relative to the folder of the recording (required)',
    '--allow-side-effects': 'let the expression change things; the replay may diverge',
    ...NODE_PROGRAM_OPTIONS,
    '--json': 'print one JSON object per hit: hit, step, seq, value',
  },
  examples: [
    `retake debug eval last --at src/agent.ts:42 'messages.length'`,
    `retake debug eval last --at agent.ts:17 '{ city, price }' --json`,
    `retake debug eval --all --at src/agent.ts:42 'cart.total' --by outcome`,
  ],
  async run(options, [name = '', expression]) {
    if (options.flag('all')) {
      if (expression !== undefined)
        throw usageError(
          `Unexpected argument "${expression}".`,
          '--all takes the expression alone.',
        )
      return evalAll(name, options)
    }
    if (options.has('by') || options.has('since') || options.has('jobs') || options.has('oracle'))
      throw usageError('--by, --since, --jobs and --oracle need --all.', 'They choose among runs.')
    if (expression === undefined)
      throw usageError('Missing argument <expression>.', "For example: 'messages.length'.")
    const at = options.text('at') ?? ''
    const json = options.json
    const checked = checkExpression(expression)
    const tape = options.openRun(name)
    refuseImported(tape)
    using code = codeToShow(tape)
    const line = findSourceLine(at, tape.details.cwd)
    const print = printer(tape, json)
    return await explainingDivergence(tape, json, async () => {
      const watching = { ...line, expression: checked, onHit: print, code }
      const watched = await watchRun(tape, watching, options)
      if (watched.hits === 0) throw neverRan(line, watched)
      return 0
    })
  },
} satisfies Verb

async function watchRun(
  tape: Tape,
  {
    code,
    ...watching
  }: Pick<WatchLineOptions, 'file' | 'line' | 'expression' | 'onHit'> & {
    readonly code: RecordedCode | undefined
  },
  options: Options,
): Promise<WatchedLine> {
  const watch = (known?: WatchedLine['known']): Promise<WatchedLine> =>
    withProbe(tape, { nodeArgs: options.texts('node-arg'), code }, (probe) =>
      probe.watchLine({
        ...watching,
        allowSideEffects: options.flag('allow-side-effects'),
        ...(options.json && { limits: IN_FULL }),
        ...(known && { known }),
      }),
    )
  let watched = await watch()
  if (watched.hits === 0 && watched.known) watched = await watch(watched.known)
  checkEnd(watched.end)
  return watched
}

interface EvaluatedRun extends Pick<ChosenRun, 'outcome'> {
  readonly run: string
  readonly values: readonly { readonly text: string; readonly json: unknown }[]
}

async function evalAll(expression: string, options: Options): Promise<number> {
  const by = options.choice('by', ['outcome'])
  const checked = checkExpression(expression)
  const at = options.text('at') ?? ''
  const jobs = options.jobs()
  const { runs, skipped } = await chooseRuns(options)
  const found = await inspectRuns(runs, skipped, jobs, async ({ tape, outcome }) => {
    const values: { text: string; json: unknown }[] = []
    const onHit = ({ evaluation }: LineHit): void => {
      values.push(
        evaluation.ok
          ? { text: evaluation.value.text, json: evaluation.value.json }
          : { text: `threw ${evaluation.message}`, json: { error: evaluation.message } },
      )
    }
    using code = RecordedCode.ofChanged(tape)
    const line = findSourceLine(at, tape.details.cwd)
    await watchRun(tape, { ...line, expression: checked, onHit, code }, options)
    return { run: tape.run.id, outcome, values }
  })
  const counts = countByValue(found)
  options.print({ at, expression, runs: found, ...(by && { values: counts }), skipped }, (look) => [
    ...(by === undefined ? runLines(found) : countLines(counts, look)),
    ...skipped.map(({ run, reason }) => `skipped ${run}: ${printable(reason)}`),
  ])
  return found.some(({ values }) => values.length > 0) ? 0 : 1
}

const runLines = (runs: readonly EvaluatedRun[]): string[] =>
  runs.flatMap(({ run, outcome, values }) =>
    values.length === 0
      ? [`${run}  ${outcome}  (never ran)`]
      : values.map(({ text }) => `${run}  ${outcome}  ${printable(text)}`),
  )

/** Number of runs of each outcome in which a value occurred, most frequent first. */
function countByValue(runs: readonly EvaluatedRun[]) {
  const counts = new Map<string, Record<ChosenRun['outcome'], number>>()
  for (const { outcome, values } of runs) {
    const texts = values.length === 0 ? ['(never ran)'] : values.map(({ text }) => text)
    for (const text of new Set(texts)) {
      const count = counts.get(text) ?? { failed: 0, passed: 0, undecided: 0 }
      counts.set(text, count)
      count[outcome] += 1
    }
  }
  return [...counts]
    .map(([value, count]) => ({ value, ...count }))
    .toSorted((a, b) => b.failed - a.failed || b.passed - a.passed)
}

const countLines = (counts: ReturnType<typeof countByValue>, { width }: Look): string[] =>
  tableLines(
    [
      ['failed', 'passed', 'undecided', 'value'],
      ...counts.map(({ value, failed, passed, undecided }) => [
        String(failed),
        String(passed),
        String(undecided),
        printable(value),
      ]),
    ],
    width,
  )

/** Prints one line per hit, immediately. */
function printer(tape: Tape, json: boolean): (hit: LineHit) => void {
  const marks = viewRun(tape)
    .recordedSteps.flatMap((step) => [step.seq, ...step.answerSeqs].map((seq) => ({ seq, step })))
    .toSorted((a, b) => a.seq - b.seq)
  const paint = painter(process.stdout)
  return ({ hit, position, location, evaluation }) => {
    const seq = position - 1
    // The last step that had been started or answered by then.
    const step = marks[firstIndex(marks, (mark) => mark.seq > seq) - 1]?.step.label
    if (json) printJson({ hit, step, seq, location, ...evaluation })
    else {
      // V8 says that something was refused, but not what to do about it.
      const hint = '; use --allow-side-effects to permit it'
      const isRefused = !evaluation.ok && evaluation.message.includes('Possible side-effect')
      const shown = evaluation.ok
        ? evaluation.value.text
        : paint('red', evaluation.message + (isRefused ? hint : ''))
      const when = step === undefined ? `event ${seq}` : `step ${step}`
      console.log(`${paint('dim', `${hit} · ${when}`)}  ${printable(shown)}`)
    }
  }
}

function neverRan({ file, line }: ReturnType<typeof findSourceLine>, watched: WatchedLine): Error {
  const { wasLoaded, nextLineWithCode } = watched
  const count = readFileSync(sourceFile(file), 'utf8')
    .replace(/\r?\n$/, '')
    .split('\n').length
  const why =
    line > count
      ? `The file ends at line ${count}.`
      : !wasLoaded
        ? 'The program did not load this file.'
        : nextLineWithCode === undefined
          ? 'The program loaded the file, but did not reach this line. Code inside tool() does not run on replay.'
          : `No code begins on it; the next line with code is ${nextLineWithCode}.`
  return cliErrors.LINE_NEVER_RAN(fromHere(file), line, why)
}

function findSourceLine(text: string, recordedIn: string | undefined) {
  const match = /^(.+?):(\d+)(?::\d+)?$/.exec(text)
  const line = Number(match?.[2])
  if (match?.[1] === undefined || line < 1)
    throw usageError(`"${text}" is not a line.`, 'Write file:line, for example src/agent.ts:42.')
  const name = match[1]
  const folders = [...new Set([recordedIn ?? process.cwd(), process.cwd()])]
  const file = folders
    .map((folder) => path.resolve(folder, name))
    .find((candidate) => statSync(sourceFile(candidate), { throwIfNoEntry: false })?.isFile())
  if (file === undefined) throw cliErrors.SOURCE_FILE_MISSING(name, folders)
  return { file: sourceFile(file) === file ? realpathSync(file) : file, line }
}
