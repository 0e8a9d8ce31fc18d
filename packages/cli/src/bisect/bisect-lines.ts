import type { Tape } from '@retake/tape'
import { plural } from '../facts.js'
import { divergenceReport } from '../divergence-report.js'
import { printable } from '../printable.js'
import type { Look, Paint } from '../terminal.js'
import { stepAt, viewRun } from '../view-run.js'
import type { Bisected } from './bisect-run.js'
import type { Commit } from './git-repository.js'
import type { Tried } from './try-commit.js'

/** One line for a commit that was tried. */
export function triedLine(
  { short, subject }: Commit,
  { verdict, reason }: Tried,
  paint: Paint,
): string {
  const style = { same: 'green', different: 'red', untestable: 'yellow' } as const
  const why = verdict === 'untestable' ? ` (${printable(reason)})` : ''
  return `${paint(style[verdict], verdict.padEnd(10))} ${short} ${printable(subject)}${why}`
}

/** The answer of a bisection, for a person. */
export function bisectLines(tape: Tape, bisected: Bisected, look: Look): string[] {
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
