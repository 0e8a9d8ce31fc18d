import { ownSecrets } from './find-secrets.js'

/** The content of a source file without its secrets, and the bytes that were replaced. */
export interface MaskedSource {
  readonly bytes: Buffer
  readonly masked: readonly MaskedRange[]
}
/** A first byte, and the number of bytes. */
export type MaskedRange = readonly [start: number, length: number]

/**
 * Hides secrets in source files by the rules for tapes. A secret that is recognized in one file is
 * hidden in all of them. Lengths stay, so lines and columns do, too.
 */
export function maskSources<Name>(contents: ReadonlyMap<Name, Buffer>): Map<Name, MaskedSource> {
  const mask = ownSecrets()
  const hide = (bytes: Buffer): Buffer => Buffer.from(mask.body({ type: 'result', op: 0 }, bytes))
  for (const bytes of contents.values()) hide(bytes)
  return new Map(
    Array.from(contents, ([name, content]) => {
      const hidden = hide(content)
      // Compressed content has no lines.
      const bytes = hidden.length === content.length ? hidden : Buffer.alloc(content.length, 'x')
      return [name, { bytes, masked: changedRanges(content, bytes) }]
    }),
  )
}

/** A secret and its placeholder may share characters, so only a quote or blank ends a range. */
function changedRanges(before: Buffer, after: Buffer): MaskedRange[] {
  const ranges: MaskedRange[] = []
  if (before.equals(after)) return ranges
  let [start, end] = [-1, -1]
  const close = (): void => {
    if (start >= 0) ranges.push([start, end - start])
    start = -1
  }
  for (let at = 0; at < before.length; at++) {
    if (before[at] !== after[at]) {
      if (start < 0) start = at
      end = at + 1
    } else if (BORDERS.has(before[at] ?? 0)) close()
  }
  close()
  return ranges
}

const BORDERS: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n\'"`'))

/** The line of a byte, from 1. */
export const lineAt = (bytes: Buffer, at: number): number => {
  let line = 1
  for (let end = bytes.indexOf(10); end >= 0 && end < at; end = bytes.indexOf(10, end + 1)) line++
  return line
}
