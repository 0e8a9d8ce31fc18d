import path from 'node:path'
import { mkdirSync, renameSync, rmSync, writeFileSync } from './native.js'

/**
 * Writes a file whole or not at all. Only this user may read it, and the folders created for it:
 * like a tape, it contains what an agent received. `flush`: it is on disk before this returns.
 */
export function replacePrivateFile(
  file: string,
  content: string | Uint8Array,
  { flush = false }: { readonly flush?: boolean } = {},
): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}.tmp`
  rmSync(draft, { force: true })
  try {
    writeFileSync(draft, content, { mode: 0o600, flag: 'wx', flush })
    renameSync(draft, file)
  } finally {
    rmSync(draft, { force: true })
  }
}
