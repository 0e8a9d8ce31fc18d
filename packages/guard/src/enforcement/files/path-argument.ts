import { types } from 'node:util'
import { fileURLToPath } from 'node:url'
import { disk } from '@retake/engine/hook'
import type { FileCheck } from './file-check.js'
import { PINNED, pinnedFolder } from './pins.js'

/**
 * A path as the one text that is checked and then used, whatever form it came in: bytes and
 * URL-like objects may say something else the second time. Undefined when it is no path
 * at all and Node will say so.
 */
export function pathArgument(check: FileCheck, location: unknown): string | undefined {
  if (typeof location === 'string') return withoutPin(location)
  if (types.isUint8Array(location)) {
    // Copied by what it is, not by what it says of itself.
    const bytes = Buffer.from(new Uint8Array(location))
    const text = bytes.toString()
    // Bytes that are no text could name something else than what was looked at.
    if (!Buffer.from(text).equals(bytes)) check.access('unseen', text)
    return withoutPin(text)
  }
  const { href } = (location ?? {}) as { href?: unknown }
  return typeof href === 'string' && typeof location === 'object' ? fileURLToPath(href) : undefined
}

/** Parts of Node call public functions with the path that one of ours was given. */
function withoutPin(text: string): string {
  const [, fd, rest = ''] = PINNED.exec(text) ?? []
  const folder = fd === undefined ? undefined : pinnedFolder(Number(fd))
  return folder === undefined ? text : disk.readlinkSync(folder) + rest
}
