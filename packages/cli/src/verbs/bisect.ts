import { openTape } from '@retake/tape/node'
import { type Bisected, bisectRun, Interruption } from '../bisect/bisect-run.js'
import { wrongUsage } from '../errors/command-line.js'
import { FOUND } from '../command-line/exit-codes.js'
import { askedOracle, ORACLE_OPTIONS } from '../oracle/make-oracle.js'
import {
  type Look,
  type Paint,
  painter,
  printable,
  Progress,
  widthOf,
  printJson,
} from '../terminal/terminal.js'
import { RunStore } from '../runs/run-store.js'
import { TRUST_OPTION } from '../agent/trust.js'
import { flag, type OptionValues, text, type Verb } from '../command-line/verb.js'
import type { Tape } from '@retake/tape'
import { plural } from '@retake/tape/present'
import { divergenceReport } from '../agent/divergence-report.js'
import { stepAt, viewRun } from '../runs/view-run.js'
import type { Commit } from '../bisect/git-repository.js'
import type { Tried } from '../bisect/try-commit.js'

export const bisect: Verb = {
  usage: '<run> --good <rev> [options]',
  help: `Replays the tape with the code of commits between a good and a bad one and names
the first that differs. Commits are checked out in temporary folders; your own
checkout stays as it is. The tape answers everything: no network, no key.
Commits that do not load or build are passed over, as with \`git bisect skip\`.
Exit code 3 when the commit was found, 1 when not.

Options:
  --good <rev>      a commit where the run was as recorded
  --bad <rev>       a commit where it is not (default: HEAD)
  --oracle <check>  what counts, instead of an identical replay: exit:0,
                    stdout:/regex/, json:path=value, a file, a shell command that
                    gets stdout on stdin (exit code 0 good, 125 cannot tell, else
                    bad), judge:question; not: before it turns it round
  --oracle-timeout <s>
                    longest time for one judgement (default: 30, for a judge 120)
  --judge-url <url>, --judge-model <name>
                    the model behind --oracle 'judge:…'
  --run <command>   run before each replay, for example "npm run build"
  --timeout <s>     longest time for one replay (default: 120)
  --allow-dirty     the uncommitted changes here do not matter
  --trust           also start the program of a run from elsewhere
  --dir <folder>    where the tapes are (default: .retake/runs)
  --json            the answer as JSON

Examples:
  retake bisect last --good v1.2.0
  retake bisect last --good main~20 --bad main --oracle 'stdout:/refunded/'
  retake bisect last --good HEAD~8 --run 'npm run build'`,
  options: {
    ...TRUST_OPTION,
    good: { type: 'string' },
    bad: { type: 'string' },
    ...ORACLE_OPTIONS,
    run: { type: 'string' },
    timeout: { type: 'string' },
    'allow-dirty': { type: 'boolean' },
    dir: { type: 'string' },
  },
  async run(values, [name, ...rest]) {
    const good = text(values, 'good')
    if (name === undefined || rest.length > 0)
      throw usage('Name one run.', 'For example: retake bisect last --good v1.2.0.')
    if (good === undefined)
      throw usage('Name a good commit.', 'Where the run was recorded, for example --good v1.2.0.')
    const build = text(values, 'run')
    const timeoutMs = timeoutOf(values)
    const oracle = await askedOracle(values, { verb: 'bisect' })
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    const interruption = new Interruption()
    let progress: Progress | undefined
    const paint = painter(process.stderr)
    try {
      const bisected = await bisectRun(tape, {
        good,
        bad: text(values, 'bad') ?? 'HEAD',
        allowDirty: flag(values, 'allow-dirty'),
        ...(oracle && { oracle }),
        ...(build !== undefined && { build }),
        timeoutMs,
        interruption,
        onTry: ({ short }, left) => {
          progress = new Progress(`trying ${short}, then about ${plural(left, 'step')} left`)
        },
        onTried: (commit, tried, left) => {
          progress?.stop()
          const then = left === 0 ? '' : paint('dim', ` · about ${plural(left, 'step')} left`)
          process.stderr.write(`${triedLine(commit, tried, paint)}${then}\n`)
        },
      })
      const { commit, doubtful, tried, all } = bisected
      const found = doubtful.length === 0
      if (flag(values, 'json')) {
        const { verdict: _, commit: __, ...difference } = tried
        const commits = all.map(({ replayed: ___, ...each }) => each)
        const answer = { run: tape.run.id, found, commit, doubtful, ...difference, tried: commits }
        printJson({ ...answer, see: `git show ${commit.short}` }, 2)
      } else {
        const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
        console.log(bisectLines(tape, bisected, look).join('\n'))
      }
      return found ? FOUND : 1
    } finally {
      progress?.stop()
      interruption.stop()
    }
  },
}

const usage = (what: string, why: string): Error => wrongUsage('bisect', what, why)

function timeoutOf(values: OptionValues): number {
  const seconds = Number(text(values, 'timeout') ?? 120)
  if (Number.isFinite(seconds) && seconds > 0 && seconds <= 86_400) return seconds * 1000
  throw usage('--timeout is not a number of seconds.', 'For example: --timeout 300.')
}

/** One line for a commit that was tried. */
function triedLine({ short, subject }: Commit, { verdict, reason }: Tried, paint: Paint): string {
  const style = { same: 'green', different: 'red', untestable: 'yellow' } as const
  const why = verdict === 'untestable' ? ` (${printable(reason)})` : ''
  return `${paint(style[verdict], verdict.padEnd(10))} ${short} ${printable(subject)}${why}`
}

/** The answer of a bisection, for a person. */
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
  return [
    ...answer,
    `  author  ${printable(commit.author)}`,
    `  date    ${commit.authorDate}`,
    `  subject ${printable(commit.subject)}`,
    ...(commit.isMerge
      ? [
          '  note    a merge: both sides it joins are as recorded, or come from before the good commit',
        ]
      : []),
    '',
    ...differenceLines(tape, tried, commit, look),
    ...noteLines(bisected.all, paint),
  ]
}

/** The first divergence there; for an oracle, why it said no. */
function differenceLines(
  tape: Tape,
  { reason, replayed }: Tried,
  commit: Commit,
  look: Look,
): string[] {
  const see = `git show ${commit.short}`
  const [divergence] = replayed?.divergences ?? []
  if (divergence === undefined || replayed === undefined) return [`  ${reason}`, `  see  ${see}`]
  const step = stepAt(viewRun(tape), divergence.seq)
  const place = {
    events: replayed.events,
    fix: [`see the change: ${see}`],
    ...(step && { step: `step ${step.label}` }),
  }
  const judged = reason.startsWith('event ') ? [] : [`${look.paint('red', 'oracle')} ${reason}`, '']
  return [...judged, ...divergenceReport(divergence, place, look)]
}

function noteLines(all: readonly Tried[], paint: Paint): string[] {
  const other = all.filter(({ modules }) => modules === 'other lock file').length
  if (other === 0) return []
  return [
    '',
    `${paint('yellow', 'note')} the lock file differs from the checkout's at ${plural(other, 'commit')}: ` +
      'no node_modules were lent to them. Install with --run, for example --run "npm ci".',
  ]
}
