import { tapeErrors } from '../format/errors.js'
import { openLayout } from '../format/layout.js'
import { packFrames } from '../format/pack.js'
import { Tape } from '../format/tape.js'
import { openFileSource } from './file-source.js'
import { deflateRawSync } from './native.js'
import { nodePlatform } from './node-platform.js'
import { joinBytes } from '../format/values/bytes.js'

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
  if (problem !== undefined) throw tapeErrors.TAPE_CORRUPT(file, problem, problem.message)
  if (status !== 'sealed') return source.read(0, end)
  return joinBytes([...packFrames(storingPlatform, frames, seed)])
}
