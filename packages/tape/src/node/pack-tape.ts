import { packFailed, tapeCorrupt, tapeExists, tapeNotSealed } from '../format/errors.js'
import { openLayout } from '../format/layout.js'
import { packFrames } from '../format/pack.js'
import { Tape } from '../format/tape.js'
import { openFileSource } from './file-source.js'
import { deflateRawSync, existsSync, renameSync, rmSync } from './native.js'
import { nodePlatform } from './node-platform.js'
import { openOwnTape } from './open-tape.js'
import { TapeFile } from './tape-file.js'
import { joinBytes } from '../format/bytes.js'

/** Deflate without compression: as fast to decode as copying. */
const storingPlatform = {
  ...nodePlatform,
  deflateRaw: (bytes: Uint8Array) => deflateRawSync(bytes, { level: 0 }),
}

/**
 * The bytes of a tape in the form that compresses best as a whole: a packed tape with uncompressed
 * blocks. A tape without a seal is returned unchanged, without a torn tail. Verifies every byte
 * first; throws `TAPE_CORRUPT`.
 */
export function looseTape(file: string): Uint8Array {
  const source = openFileSource(file)
  const layout = openLayout(nodePlatform, source, file)
  const { frames, seed, status, end } = layout
  const { problem } = new Tape(nodePlatform, layout, file).verify()
  if (problem !== undefined) throw tapeCorrupt(file, problem, problem.message)
  if (status !== 'sealed') return source.read(0, end)
  return joinBytes([...packFrames(storingPlatform, frames, seed)])
}

/**
 * Writes a smaller tape with the same events, bodies, hashes and seal. The source must be sealed
 * and intact, and does not change. The target appears only after it was read back and found equal.
 */
export function packTape(source: string, target: string): void {
  if (existsSync(target)) throw tapeExists(target)
  const layout = openLayout(nodePlatform, openFileSource(source), source)
  if (layout.status !== 'sealed') throw tapeNotSealed(source)
  const before = new Tape(nodePlatform, layout, source).verify()
  if (before.problem !== undefined) {
    throw tapeCorrupt(source, before.problem, before.problem.message)
  }
  const partial = `${target}.${process.pid}.partial`
  const file = TapeFile.create(partial, 'machine')
  try {
    for (const piece of packFrames(nodePlatform, layout.frames, layout.seed)) file.append([piece])
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
