import { types } from 'node:util'
import { fileURLToPath } from 'node:url'
import { disk } from '@retake/engine/hook'
import type { AskedBounds } from './asked-bounds.js'
import { PINNED, pinnedFolder } from './pins.js'

/**
 * A path as the one text that is checked and then used, whatever form it came in: bytes and
 * URL-like objects may say something else the second time. Undefined when it is no path
 * at all and Node will say so.
 */
export function pathArgument(asked: AskedBounds, place: unknown): string | undefined {
  if (typeof place === 'string') return withoutPin(place)
  if (types.isUint8Array(place)) {
    // Copied by what it is, not by what it says of itself.
    const bytes = Buffer.from(new Uint8Array(place))
    const text = bytes.toString()
    // Bytes that are no text could name something else than what was looked at.
    if (!Buffer.from(text).equals(bytes)) asked.ask('unseen', text)
    return withoutPin(text)
  }
  const { href } = (place ?? {}) as { href?: unknown }
  return typeof href === 'string' && typeof place === 'object' ? fileURLToPath(href) : undefined
}

/** Parts of Node call public functions with the path that one of ours was given. */
function withoutPin(text: string): string {
  const [, fd, rest = ''] = PINNED.exec(text) ?? []
  const folder = fd === undefined ? undefined : pinnedFolder(Number(fd))
  return folder === undefined ? text : disk.readlinkSync(folder) + rest
}
