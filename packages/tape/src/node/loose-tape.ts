import { tapeCorrupt } from '../format/errors.js'
import { openLayout } from '../format/layout.js'
import { joinBytes } from '../format/join-bytes.js'
import { packFrames } from '../format/pack.js'
import { Tape } from '../format/tape.js'
import { openFileSource } from './file-source.js'
import { deflateRawSync } from './native.js'
import { nodePlatform } from './node-platform.js'

/** Deflate that only stores: as fast to undo as copying. */
const storingPlatform = {
  ...nodePlatform,
  deflateRaw: (bytes: Uint8Array) => deflateRawSync(bytes, { level: 0 }),
}

/**
 * The bytes of a tape as they are best compressed as a whole: a packed tape whose
 * blocks are only stored. A tape without a seal is handed out as it stands in its
 * file, without a torn tail. Every byte is checked first; throws `TAPE_CORRUPT`.
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
