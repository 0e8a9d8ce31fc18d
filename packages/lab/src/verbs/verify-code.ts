import { tapesOf, writeOrReport } from '@retake/runner/verify'
import { NODE_PROGRAM_OPTIONS, usageError, type Verb } from '@retake/runner/command-line'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { confidenceSequence } from '../search/stats.js'
import { cost, duration, plural } from '@retake/tape/present'
import { checkPriced, confirmCost } from '@retake/runner/command-line'
import { FOUND, Interruption } from '@retake/runner/command-line'
import {
  checkCorpus,
  type CorpusEstimate,
  type CorpusStatus,
  type CorpusVerdict,
} from '../compare/check-corpus.js'
import { shareInterval } from '../compare/live-trials.js'
import { project } from '@retake/runner/config'
import { givenOracle, ORACLE_OPTIONS } from '@retake/runner/oracle'
import { GitRepository } from '../worktree/git-repository.js'
import {
  type JunitCase,
  junitReport,
  markdownCode,
  markdownTable,
  markdownText,
  xmlText,
} from '@retake/runner/verify'
import { fromHere, type Look, printable, Progress } from '@retake/runner/terminal'

const TIMES = 3
const TIMEOUT_S = 300

export default {
  arguments: '<run|folder...>',
  description: `Runs today's code against every tape. If the code makes exactly the recorded
requests, its behavior is unchanged; this costs nothing. At the first request that differs, the run
continues live several times, and an oracle compares the outcomes with the recorded one. Exit code
3 if a run that passed now fails, 1 if something could not be judged.

Project files that the run read, such as prompts, are read as they are today. A tool call or
request that may have an effect gets its recorded answer if it is identical; otherwise the run is
reported and ends there. Tapes that are broken, in doubt or not trusted are listed.`,
  options: {
    '--code <today>': "judge what today's code does, live where it differs",
    '--times <n>': `live continuations of a changed run (default: ${TIMES})`,
    '--base <revision>':
      'also continue the code of this git revision live, from the same step, in a worktree',
    ...ORACLE_OPTIONS,
    '--max-usd <n>': 'start no continuation that would exceed this cost',
    '--yes': 'spend money without confirmation',
    '--live-tools': 'run tools and send requests that may have an effect',
    '--junit <file>': 'also write JUnit XML, with a test case for each tape',
    '--comment <file>': 'also write the result as Markdown, for a pull request',
    '--timeout <s>': `maximum time for one run (default: ${TIMEOUT_S})`,
    '--jobs <n>': 'number of runs at a time (default: one per core)',
    '--env <NAME=value>...': 'set a variable that differs from the recording; repeatable',
    ...NODE_PROGRAM_OPTIONS,
  },
  examples: [
    "retake verify --code today test/tapes --oracle 'stdout:/refunded/' --trust",
    'retake verify --code today test/tapes --oracle ./check.ts --base origin/main',
    'retake verify --code today test/tapes --oracle exit:0 --comment comment.md',
  ],
  async run(options, names) {
    const startedAt = new Date()
    options.choice('code', ['today'])
    const times = options.number('times', { least: 1, most: 1000 }) ?? TIMES
    const jobs = options.jobs()
    const maxUsd = options.number('max-usd', { fraction: true })
    const timeoutMs = options.timeoutMs(TIMEOUT_S)
    const oracle = await givenOracle(options, undefined, project().oracle)
    if (oracle === undefined)
      throw usageError('Missing option --oracle <check>.', 'It decides which runs pass.')
    const files = [...new Set(names.flatMap((name) => tapesOf(name, options.store)))]
    const base = await baseOf(options.text('base'))
    const reports = (['junit', 'comment'] as const).flatMap((option) => {
      const file = options.text(option)
      return file === undefined ? [] : [{ option, file }]
    })
    // Checked first, so that no work is wasted.
    for (const { file } of reports)
      writeOrReport(file, () => mkdirSync(path.dirname(path.resolve(file)), { recursive: true }))
    using interruption = new Interruption()
    using progress = new Progress()
    try {
      const verdicts = await checkCorpus(files, {
        oracle,
        signal: interruption.signal,
        timeoutMs,
        env: options.variables(),
        nodeArgs: options.texts('node-arg'),
        times,
        jobs,
        liveTools: options.flag('live-tools'),
        maxUsd,
        base,
        confirm: (estimate) => announce(estimate, { maxUsd, isConfirmed: options.flag('yes') }),
        onProgress: (text) => progress.say(text),
      })
      progress.stop()
      const summary = summarize(verdicts, Date.now() - startedAt.getTime())
      for (const { option, file } of reports) {
        const text =
          option === 'junit'
            ? junitReport('retake verify', verdicts.map(corpusCase), startedAt)
            : markdownOf(verdicts, summary.line)
        writeOrReport(file, () => writeFileSync(file, text))
      }
      options.print({ ...summary, tapes: verdicts }, (look) =>
        corpusLines(verdicts, summary.line, look),
      )
      return summary.exitCode
    } catch (error) {
      interruption.throwIfAny()
      throw error
    }
  },
} satisfies Verb

async function baseOf(revision: string | undefined) {
  if (revision === undefined) return undefined
  const repository = await GitRepository.find(process.cwd())
  return { repository, commit: await repository.resolve(revision) }
}

async function announce(
  estimate: CorpusEstimate,
  { maxUsd, isConfirmed }: { readonly maxUsd: number | undefined; readonly isConfirmed: boolean },
): Promise<void> {
  checkPriced(estimate, maxUsd)
  const facts = [
    `${plural(estimate.tapes, 'tape')} changed`,
    `at most ${plural(estimate.trials, 'continuation')}`,
    `about ${estimate.tokens} tokens`,
    estimate.costUsd === undefined ? 'cost unknown' : `about ${cost(estimate.costUsd)}`,
    ...(maxUsd === undefined ? [] : [`at most $${maxUsd}`]),
  ]
  process.stderr.write(`${facts.join(' · ')}\n`)
  if (!isConfirmed) await confirmCost(estimate)
}

function summarize(verdicts: readonly CorpusVerdict[], wallMs: number) {
  const count = (status: CorpusStatus): number =>
    verdicts.filter((verdict) => verdict.status === status).length
  const failing = verdicts.filter(({ status }) => status === 'fails')
  const sampled = failing.filter(({ isExact }) => isExact !== true)
  const sum = (read: (verdict: CorpusVerdict) => number): number =>
    sampled.reduce((total, verdict) => total + read(verdict), 0)
  const judged = sum(({ now }) => now?.judged ?? 0)
  const interval =
    judged === 0
      ? undefined
      : confidenceSequence(judged - sum(({ now }) => now?.passed ?? 0), judged)
  const isPriced = verdicts.every(
    ({ status, costUsd }) => status === 'skipped' || costUsd !== undefined,
  )
  const costUsd = verdicts.reduce((total, verdict) => total + (verdict.costUsd ?? 0), 0)
  const some = (status: CorpusStatus, text: (n: number) => string): string[] =>
    count(status) > 0 ? [text(count(status))] : []
  const line = [
    `${count('unchanged')} of ${verdicts.length} unchanged (proved)`,
    ...some('same', (n) => `${n} changed, same outcome`),
    ...some('fixed', (n) => `${n} now ${n === 1 ? 'passes' : 'pass'}`),
    ...some(
      'fails',
      (n) =>
        `${n} now ${n === 1 ? 'fails' : 'fail'}${interval ? ` ${shareInterval(interval)}` : ''}`,
    ),
    ...some('undecided', (n) => `${n} not judged`),
    ...some('skipped', (n) => `${n} not checked`),
    isPriced ? cost(costUsd) || '$0' : 'cost unknown',
    duration(wallMs),
  ].join(' · ')
  const exitCode = failing.length > 0 ? FOUND : count('undecided') > 0 ? 1 : 0
  return {
    line,
    exitCode,
    counts: Object.fromEntries(STATUSES.map((status) => [status, count(status)])),
    ...(interval && { failureRate: interval }),
    ...(isPriced && { costUsd }),
    wallMs,
  }
}

const STATUSES: readonly CorpusStatus[] = [
  'fails',
  'undecided',
  'fixed',
  'same',
  'skipped',
  'unchanged',
]

const WORDS: Readonly<Record<CorpusStatus, string>> = {
  fails: 'now fails',
  undecided: 'not judged',
  fixed: 'now passes',
  same: 'same outcome',
  skipped: 'not checked',
  unchanged: 'unchanged',
}

/** Rows that need attention first. */
const changedRows = (verdicts: readonly CorpusVerdict[]): CorpusVerdict[] =>
  verdicts
    .filter(({ status }) => status !== 'unchanged')
    .toSorted((a, b) => STATUSES.indexOf(a.status) - STATUSES.indexOf(b.status))

function corpusLines(verdicts: readonly CorpusVerdict[], line: string, { paint }: Look): string[] {
  const shown = changedRows(verdicts)
  return [
    ...shown.flatMap((verdict) => {
      const { status, name, tape, reason, site, diff = [], changedFiles = [] } = verdict
      const style = status === 'fails' ? 'red' : status === 'undecided' ? 'yellow' : 'bold'
      return [
        `${paint(style, WORDS[status])}  ${printable(name)} (${fromHere(tape)})`,
        `  ${printable(reason)}`,
        ...changedFiles.map(
          (file) => `  ${printable(file.path)} ${file.change} since the recording`,
        ),
        ...diff.map((each) => `  ${printable(each)}`),
        ...(site === undefined ? [] : [`  at ${paint('cyan', fromHere(site))}`]),
        ...(status === 'fails' ? [`  see it  retake rerun ${fromHere(tape)}`] : []),
        '',
      ]
    }),
    line,
  ]
}

function corpusCase(verdict: CorpusVerdict): JunitCase {
  const { tape, name, status, reason, ms, run, site, diff = [], costUsd } = verdict
  return {
    tape,
    name,
    seconds: ms / 1000,
    properties: { tape, run, status, site, costUsd },
    outcome:
      status === 'fails'
        ? 'failed'
        : status === 'undecided'
          ? 'error'
          : status === 'skipped'
            ? 'skipped'
            : 'passed',
    message: reason,
    type: WORDS[status],
    text: [reason, ...diff, ...(site === undefined ? [] : [`at ${fromHere(site)}`])].join('\n'),
  }
}

const ROWS_MAX = 100

/** The result for a pull request: a summary line, a table of changes, and folded differences. */
function markdownOf(verdicts: readonly CorpusVerdict[], line: string): string {
  const shown = changedRows(verdicts)
  const rows = shown.map(({ status, name, tape, reason }) => [
    WORDS[status],
    markdownText(name),
    markdownCode(fromHere(tape)),
    markdownText(reason),
  ])
  const details = shown
    .slice(0, ROWS_MAX)
    .filter(({ diff = [] }) => diff.length > 0)
    .flatMap(({ name, diff = [] }) => [
      `<details><summary>${xmlText(name)}</summary>`,
      '',
      '```diff',
      ...diff.map((each) =>
        each
          .trimEnd()
          .replaceAll('```', "'''")
          .replace(/^\s+(?=[-+] )/, ''),
      ),
      '```',
      '',
      '</details>',
      '',
    ])
  return [
    `### Retake: ${line}`,
    '',
    ...(rows.length === 0 ? [] : markdownTable(['result', 'run', 'tape', ''], rows, ROWS_MAX)),
    ...details,
  ].join('\n')
}
