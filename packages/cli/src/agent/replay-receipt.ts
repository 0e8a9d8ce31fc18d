import type { Tape } from '@retake/tape'
import { duration, plural } from '@retake/tape/present'
import { divergenceAdvice, recordCommand } from './divergence-advice.js'
import { divergenceReport } from './divergence-report.js'
import { type Look, printable } from '../terminal/terminal.js'
import type { Replayed } from './replay-agent.js'
import { stepAt, viewRun } from '../runs/view-run.js'

/** More differences than this are only counted; `--json` has all of them. */
const SHOWN_MAX = 20

/**
 * What a replay came to, for a person: each divergence in full, or one line that
 * nothing differs. `fix` replaces the advice if the caller knows better what to do.
 */
export function replayReceipt(
  tape: Tape,
  replayed: Replayed,
  look: Look,
  fix?: readonly string[],
): string[] {
  const { divergences, cutOff, events, placeholders } = replayed
  const again = recordCommand(tape)
  const { paint } = look
  if (divergences.length === 0) {
    const facts = receiptFacts(tape, replayed).join(' · ')
    return [
      `${paint('green', 'identical')} · ${facts}`,
      ...(cutOff ? cutOffLines(tape, look) : []),
      `digest ${tape.digest}`,
    ]
  }
  const view = viewRun(tape)
  const reports = divergences.slice(0, SHOWN_MAX).flatMap((divergence, index) => {
    const step = stepAt(view, divergence.seq)
    const advice =
      fix ?? divergenceAdvice(tape, divergence, { again, ...(placeholders && { placeholders }) })
    const place = { events, fix: advice, ...(step && { step: `step ${step.label}` }) }
    return [...(index > 0 ? [''] : []), ...divergenceReport(divergence, place, look)]
  })
  const more = divergences.length - SHOWN_MAX
  return [
    ...reports,
    ...(more > 0 ? ['', `and ${plural(more, 'more difference')}; --json has all of them`] : []),
    ...(tape.run.node === process.version
      ? []
      : [`  note recorded with Node ${tape.run.node}, replayed with ${process.version}`]),
  ]
}

/** How much was compared, and what it took. */
function receiptFacts(tape: Tape, { events, served, contacts, wallMs }: Replayed): string[] {
  const sockets = Object.values(contacts).reduce((sum, count) => sum + count, 0)
  return [
    `${events} of ${events} events`,
    `${served} served`,
    plural(sockets, 'socket'),
    `${duration(wallMs)} (recorded ${duration(tape.event(tape.count - 1).at)})`,
  ]
}

/** The run was killed: what it had begun by then may or may not have had its effect. */
function cutOffLines(tape: Tape, { paint }: Look): string[] {
  const { exit, recordedSteps } = viewRun(tape)
  const inDoubt = recordedSteps.filter(({ state }) => state === 'in doubt')
  const how =
    exit?.signal === undefined ? 'the run was killed' : `the run was killed by ${exit.signal}`
  return [
    `${paint('yellow', 'cut off')} · the recording ends there: ${how}`,
    ...inDoubt.map((step) => `  in doubt: step ${step.label} ${printable(step.title)}`),
  ]
}
