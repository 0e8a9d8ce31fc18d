import type { Tape } from '@retake/tape'
import { duration } from './duration.js'
import type { Replayed } from './replay-agent.js'
import { painter } from './terminal.js'

/** What a replay came to, for a person: one line, and each divergence in full. */
export function replayReceipt(tape: Tape, replayed: Replayed): string {
  const paint = painter(process.stderr)
  const lines: string[] = []
  for (const divergence of replayed.divergences) {
    lines.push(
      `${paint('red', 'diverged')} at event ${divergence.seq} of ${replayed.events}: ${divergence.summary}`,
    )
    lines.push(`  ${divergence.explanation}`)
    for (const { field, recorded, current } of divergence.mismatches) {
      lines.push(`  ${field}`, `  - ${JSON.stringify(recorded)}`, `  + ${JSON.stringify(current)}`)
    }
    if (divergence.site !== undefined) lines.push(`  at ${divergence.site}`)
  }
  if (replayed.divergences.length === 0)
    lines.push(`${paint('green', 'identical')} · ${facts(tape, replayed)}`)
  return lines.join('\n') + '\n'
}

function facts(tape: Tape, replayed: Replayed): string {
  const sockets = Object.values(replayed.contacts).reduce((sum, count) => sum + count, 0)
  const recordedMs = tape.event(tape.count - 1).at
  return [
    `${replayed.events} of ${replayed.events} events`,
    `${replayed.served} served`,
    `${sockets} sockets`,
    `${duration(replayed.wallMs)} (recorded ${duration(recordedMs)})`,
  ].join(' · ')
}
