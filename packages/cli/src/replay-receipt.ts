import type { Tape } from '@retake/tape'
import { divergenceReport } from './divergence-report.js'
import { duration } from './duration.js'
import { plural } from './facts.js'
import { printable } from './printable.js'
import type { Replayed } from './replay-agent.js'
import type { Look } from './terminal.js'
import { stepAt, viewRun } from './view-run.js'

/** What a replay came to, for a person: each divergence in full, or one line that nothing differs. */
export function replayReceipt(tape: Tape, replayed: Replayed, look: Look): string[] {
  const { divergences, cutOff } = replayed
  if (divergences.length > 0)
    return divergences.flatMap((divergence, index) => [
      ...(index > 0 ? [''] : []),
      ...report(tape, replayed, divergence, look),
    ])
  const facts = receiptFacts(tape, replayed).join(' · ')
  return [
    `${look.paint('green', 'identical')} · ${facts}`,
    ...(cutOff ? cutOffLines(tape, look) : []),
  ]
}

/** How much was compared, and what it took. */
export function receiptFacts(tape: Tape, { events, served, contacts, wallMs }: Replayed): string[] {
  const sockets = Object.values(contacts).reduce((sum, count) => sum + count, 0)
  return [
    `${events} of ${events} events`,
    `${served} served`,
    plural(sockets, 'socket'),
    `${duration(wallMs)} (recorded ${duration(tape.event(tape.count - 1).at)})`,
  ]
}

function report(
  tape: Tape,
  { events }: Replayed,
  divergence: Replayed['divergences'][number],
  look: Look,
): string[] {
  const step = stepAt(viewRun(tape), divergence.seq)
  const { entry = '', args = [] } = tape.details
  const place = {
    events,
    again: ['retake record', entry, ...args].join(' '),
    ...(step && { step: `step ${step.label}` }),
  }
  const lines = divergenceReport(divergence, place, look)
  if (tape.run.node === process.version) return lines
  return [...lines, `  note recorded with Node ${tape.run.node}, replayed with ${process.version}`]
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
