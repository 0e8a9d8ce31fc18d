import path from 'node:path'
import type { Tape } from '@retake/tape'

const READS = /\.(readFile|read|readv)(Sync)?$/
const WRITES = /\.(writeFile|appendFile|write|writev|copyFile|cp|rename)(Sync)?$/

/** Files that a run read or wrote by itself, absolute. What its child processes did is not known. */
export function filesOnTape(tape: Tape): {
  readonly read: ReadonlySet<string>
  readonly written: ReadonlySet<string>
} {
  const { cwd = '.' } = tape.details
  const read = new Set<string>()
  const written = new Set<string>()
  for (const event of tape.events()) {
    if (event.type !== 'call' || event.kind !== 'file' || event.title === undefined) continue
    // Options follow the path.
    const names = event.title.replace(/ \[.*\]$/s, '').split(' → ')
    const files = READS.test(event.name) ? read : WRITES.test(event.name) ? written : undefined
    for (const name of names) files?.add(path.resolve(cwd, name))
  }
  return { read, written }
}
