import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A new folder for this scope. Its path is resolved, because sandboxes need the real one. */
export function temporaryFolder(name: string, parent = realpathSync(tmpdir())) {
  const folder = mkdtempSync(path.join(parent, `retake-${name}-`))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  return { path: folder, [Symbol.dispose]: remove }
}
