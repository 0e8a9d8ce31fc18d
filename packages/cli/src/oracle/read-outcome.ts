import path from 'node:path'
import { overlayOf } from '@retake/engine'
import type { Tape } from '@retake/tape'
import { viewRun } from '../runs/view-run.js'
import type { RunOutcome } from './oracle.js'

/** What a run came to, by its tape. */
export function readOutcome(tape: Tape): RunOutcome {
  const view = viewRun(tape)
  const { exit } = view
  const written = (stream: 'stdout' | 'stderr'): Buffer =>
    Buffer.concat(
      view.outputs
        .filter((output) => output.stream === stream)
        .map((output) => view.outputBytes(output)),
    )
  const stdoutBytes = written('stdout')
  const result = view.result()
  return {
    stdout: stdoutBytes.toString(),
    stdoutBytes,
    stderr: written('stderr').toString(),
    ended: exit !== undefined && exit.signal === undefined,
    ...(exit?.code !== undefined && { exitCode: exit.code }),
    ...(exit?.signal !== undefined && { signal: exit.signal }),
    ...(exit?.error && { error: { class: exit.error.class, message: exit.error.message } }),
    ...(result !== undefined && { result }),
    tape: tape.path,
    files: filesOf(tape),
  }
}

/** A branch leaves the disk as it is: what it wrote lies beside its tape, at the path it has on disk. */
function filesOf({ path: file, details: { branch, cwd = process.cwd() } }: Tape): string {
  if (branch === undefined) return cwd
  const { root } = path.parse(cwd)
  const tree = path.join(overlayOf(path.resolve(file)), 'tree')
  return path.join(tree, root.replaceAll(/[:\\/]/g, ''), cwd.slice(root.length))
}
