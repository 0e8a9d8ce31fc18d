import { type Verb, PROGRAM_OPTIONS } from '@retake/runner/command-line'
import {
  type Look,
  type Paint,
  painter,
  printable,
  Progress,
  linesOf,
} from '@retake/runner/terminal'
import { type Bisected, bisectRun } from '../bisect/bisect-run.js'
import { FOUND, Interruption } from '@retake/runner/command-line'
import { givenOracle, ORACLE_OPTIONS } from '@retake/runner/oracle'
import type { Tape } from '@retake/tape'
import { plural } from '@retake/tape/present'
import { divergenceReport } from '@retake/runner/agent'
import type { Commit } from '../bisect/git-repository.js'
import type { TriedCommit } from '../bisect/try-commit.js'

export default {
  arguments: '<run>',
  description: `Replays the tape with the code of commits between a good and a bad one, and names
the first commit that behaves differently. Commits are checked out in temporary folders; your
checkout is not touched. The tape answers every request, so you need no network and no API key.
Commits that do not load or build are skipped. Exit code 3 if the commit was found, 1 if not.`,
  options: {
    '--good <rev>': 'commit that behaves as recorded (required)',
    '--bad <rev>': 'commit that behaves differently (default: HEAD)',
    ...ORACLE_OPTIONS,
    '--run <command>': 'run this before each replay, for example "npm run build"',
    '--timeout <s>': 'maximum time for one replay (default: 120)',
    '--allow-dirty': 'ignore uncommitted changes',
    ...PROGRAM_OPTIONS,
  },
  examples: [
    'retake bisect last --good v1.2.0',
    `retake bisect last --good main~20 --bad main --oracle 'stdout:/refunded/'`,
    `retake bisect last --good HEAD~8 --run 'npm run build'`,
  ],
  async run(options, [name = '']) {
    const good = options.text('good') ?? ''
    const build = options.text('run')
    const timeoutMs = options.timeoutMs(120)
    const oracle = await givenOracle(options)
    const tape = options.openRun(name)
    using interruption = new Interruption()
    const paint = painter(process.stderr)
    const bisected = await bisectRun(tape, {
      good,
      bad: options.text('bad') ?? 'HEAD',
      allowDirty: options.flag('allow-dirty'),
      ...(oracle && { oracle }),
      ...(build !== undefined && { build }),
      timeoutMs,
      interruption,
      show: async (commit, left, run) => {
        using progress = new Progress(
          `trying ${commit.short}, then about ${plural(left, 'step')} left`,
        )
        const tried = await run()
        progress.stop()
        const then = left === 0 ? '' : paint('dim', ` · about ${plural(left, 'step')} left`)
        process.stderr.write(`${triedLine(commit, tried, paint)}${then}\n`)
        return tried
      },
    })
    const { commit, doubtful, tried, all } = bisected
    const found = doubtful.length === 0
    const { verdict: _, commit: __, ...difference } = tried
    const commits = all.map(({ replayed: ___, ...each }) => each)
    const answer = { run: tape.run.id, found, commit, doubtful, ...difference, tried: commits }
    options.print(
      { ...answer, see: `git show ${commit.short}` },
      (look) => bisectLines(tape, bisected, look),
      2,
    )
    return found ? FOUND : 1
  },
} satisfies Verb

function triedLine(
  { short, subject }: Commit,
  { verdict, reason }: TriedCommit,
  paint: Paint,
): string {
  const style = { same: 'green', different: 'red', untestable: 'yellow' } as const
  const why = verdict === 'untestable' ? ` (${printable(reason)})` : ''
  return `${paint(style[verdict], verdict.padEnd(10))} ${short} ${printable(subject)}${why}`
}

function bisectLines(tape: Tape, bisected: Bisected, look: Look): string[] {
  const { commit, doubtful, tried } = bisected
  const { paint } = look
  const answer =
    doubtful.length === 0
      ? [`${paint('bold', commit.hash)} is the first ${paint('red', 'different')} commit`]
      : [
          `not found: ${plural(doubtful.length + 1, 'commit')} may be the first different one`,
          ...doubtful.map((each) => `  ${each.short} ${printable(each.subject)} (untestable)`),
          `  ${commit.short} ${printable(commit.subject)}`,
          '',
          `${paint('bold', commit.hash)} is the first that is known to be different`,
        ]
  return linesOf(
    ...answer,
    `  author  ${printable(commit.author)}`,
    `  date    ${commit.authorDate}`,
    `  subject ${printable(commit.subject)}`,
    commit.isMerge &&
      '  note    a merge: both sides it joins are as recorded, or come from before the good commit',
    '',
    ...differenceLines(tape, tried, commit, look),
    ...noteLines(bisected.all, paint),
  )
}

function differenceLines(
  tape: Tape,
  { reason, replayed }: TriedCommit,
  commit: Commit,
  look: Look,
): string[] {
  const see = `git show ${commit.short}`
  const [divergence] = replayed?.divergences ?? []
  if (divergence === undefined || replayed === undefined) return [`  ${reason}`, `  see  ${see}`]
  const fix = [`see the change: ${see}`]
  const judged = reason.startsWith('event ') ? [] : [`${look.paint('red', 'oracle')} ${reason}`, '']
  return [...judged, ...divergenceReport(tape, divergence, look, { fix })]
}

function noteLines(all: readonly TriedCommit[], paint: Paint): string[] {
  const other = all.filter(({ modules }) => modules === 'other lock file').length
  if (other === 0) return []
  return [
    '',
    `${paint('yellow', 'note')} the lock file differs from the checkout's at ${plural(other, 'commit')}: ` +
      'node_modules are not linked there. Install with --run, for example --run "npm ci".',
  ]
}
