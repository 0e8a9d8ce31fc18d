import { GEAR } from './gear.js'

/** One place in this many bytes is part of a sketch, on average. */
const SPACING_BITS = 10
/** What lies behind is not looked at: a sketch need not be complete. */
const SKETCH_MAX_BYTES = 1 << 21

/**
 * Hashes of the 32 bytes before certain places, which are chosen by those bytes
 * alone. Bodies that share text share its hashes, wherever it stands in them.
 */
function sketchOf(body: Uint8Array): ReadonlySet<number> {
  const sketch = new Set<number>()
  const length = Math.min(body.length, SKETCH_MAX_BYTES)
  let hash = 0
  for (let i = 0; i < length; i++) {
    hash = ((hash << 1) + (GEAR[body[i] ?? 0] ?? 0)) | 0
    if (hash >>> (32 - SPACING_BITS) === 0) sketch.add(hash)
  }
  return sketch
}

/** The sketch of a body, made when it is asked for and then kept. */
export function lazySketch(body: Uint8Array): () => ReadonlySet<number> {
  let sketch: ReadonlySet<number> | undefined
  return () => (sketch ??= sketchOf(body))
}

/** How many hashes two sketches share: roughly, how many kilobytes of text. */
export function sharedHashes(a: ReadonlySet<number>, b: ReadonlySet<number>): number {
  let shared = 0
  for (const hash of a) if (b.has(hash)) shared++
  return shared
}
