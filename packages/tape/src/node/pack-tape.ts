import { packFailed, tapeCorrupt, tapeExists, tapeNotSealed } from '../errors.js'
import { openLayout } from '../layout.js'
import { packFrames } from '../pack.js'
import { Tape } from '../tape.js'
import { openFileSource } from './file-source.js'
import { existsSync, renameSync, rmSync } from './native.js'
import { nodeDoor } from './node-door.js'
import { openOwnTape } from './open-tape.js'
import { TapeFile } from './tape-file.js'

/**
 * Writes a smaller tape with the same events, bodies, hashes and seal. The
 * source must be sealed and whole, and stays as it is. The target appears only
 * when it was read back and found equal.
 */
export function packTape(source: string, target: string): void {
  if (existsSync(target)) throw tapeExists(target)
  const layout = openLayout(nodeDoor, openFileSource(source), source)
  if (layout.status !== 'sealed') throw tapeNotSealed(source)
  const before = new Tape(nodeDoor, layout, source).verify()
  if (before.problem !== undefined) {
    throw tapeCorrupt(source, before.problem, before.problem.message)
  }
  const partial = `${target}.${process.pid}.partial`
  const file = TapeFile.create(partial)
  try {
    for (const piece of packFrames(nodeDoor, layout.frames, layout.seed)) file.append([piece])
    file.sync()
    file.close()
    const after = openOwnTape(partial).verify()
    if (!after.ok || after.digest !== before.digest) {
      throw packFailed(target, after.problem?.message ?? 'Its digest differs.')
    }
    renameSync(partial, target)
  } finally {
    file.close()
    rmSync(partial, { force: true })
  }
}
