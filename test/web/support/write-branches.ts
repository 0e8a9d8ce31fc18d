import { join } from 'node:path'
import type { BranchDetails, Tape } from '@retake/tape'
import { openTape, TapeWriter } from '@retake/tape/node'
import { writeTape } from './write-tape.js'

/** How a written branch came to be, and what it came to. */
export interface WrittenBranch {
  readonly id: string
  readonly name?: string
  readonly parent: string
  readonly details: BranchDetails
  /** The last line it prints. */
  readonly says: string
  readonly exitCode?: number
}

/** A run with one model call, to branch off from. */
export function writeFirstRun(folder: string, id: string): void {
  writeTape(folder, { id }, (tape) => {
    tape.chat([{ role: 'user', content: 'May I?' }], 'Yes.')
    tape.add({ type: 'output', stream: 'stdout' }, 'APPROVED\n')
  })
}

/** A branch that leaves its parent before anything was printed, and prints something else. */
export function writeBranch(folder: string, branch: WrittenBranch): void {
  const runs = join(folder, '.retake', 'runs')
  const parent = openTape(join(runs, `${branch.parent}.tape`))
  const seq = firstOutput(parent)
  let now = 1000
  const writer = TapeWriter.create(
    join(runs, `${branch.id}.tape`),
    {
      type: 'run',
      id: branch.id,
      name: branch.name ?? branch.id,
      startedAt: 1_790_000_100_000,
      scope: 'process',
      node: 'v20.20.2',
      parent: { run: branch.parent, seq, chain: parent.chainAt(seq - 1) },
    },
    { branch: branch.details },
    { now: () => ++now },
  )
  writer.append({ type: 'output', stream: 'stdout' }, Buffer.from(`${branch.says}\n`))
  writer.append({ type: 'end', exitCode: branch.exitCode ?? 0 })
  writer.seal()
}

function firstOutput(tape: Tape): number {
  let seq = 0
  while (tape.event(seq).type !== 'output') seq += 1
  return seq
}
