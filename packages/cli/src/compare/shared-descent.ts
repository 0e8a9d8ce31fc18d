import path from 'node:path'
import type { SharedPart } from '@retake/diagnose'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'

/** What two runs have in common because they branched off the same run, however many forks ago. */
export function sharedDescent(a: Tape, b: Tape): SharedPart | undefined {
  if (a.run.id === b.run.id) return undefined
  const others = new Map(lineageOf(b).map(({ run, events }) => [run, events]))
  const [nearest] = lineageOf(a)
    .map(({ run, events }) => ({ run, events: Math.min(events, others.get(run) ?? 0) }))
    .filter(({ events }) => events > 0)
    .toSorted((one, other) => other.events - one.events)
  return nearest
}

/** A run and those it descends from, with how many events of each are part of it. */
function lineageOf(tape: Tape): SharedPart[] {
  const lineage: SharedPart[] = [{ run: tape.run.id, events: tape.count }]
  let { parent } = tape.run
  let events = tape.count
  while (parent !== undefined) {
    events = Math.min(events, parent.seq)
    lineage.push({ run: parent.run, events })
    const file = path.join(path.dirname(tape.path), `${parent.run}.tape`)
    parent = openTape(file).run.parent
  }
  return lineage
}
