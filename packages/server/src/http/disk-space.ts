import { statfsSync } from 'node:fs'

/** With less free space than this, caches are removed, and the server is not ready. */
export const LOW_BYTES = 64 << 20

export function diskSpace(folder: string): { readonly freeBytes: number; readonly bytes: number } {
  const { bavail, blocks, bsize } = statfsSync(folder)
  return { freeBytes: bavail * bsize, bytes: blocks * bsize }
}
