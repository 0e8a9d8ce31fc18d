import path from 'node:path'
import { mkdirSync, renameSync, rmSync, writeFileSync } from './native.js'

/**
 * Writes a file atomically. Only this user may read the file and the folders created for it,
 * because it may contain data that an agent received. With `flush`, the file is on disk before this
 * returns.
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
