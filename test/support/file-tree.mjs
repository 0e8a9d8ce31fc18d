import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** What belongs to Retake and to the tests, not to the agent. */
const ours = /^(?:\.retake|ways-out-\d+\.json|node_modules)$/

/**
 * Everything below a folder in one digest: names, kinds, modes, times, contents.
 *
 * @param {string} folder
 * @returns {Promise<string>}
 */
export async function digestTree(folder) {
  const hash = createHash('sha256')
  const entries = await readdir(folder, { recursive: true })
  for (const name of entries.toSorted()) {
    if (ours.test(name.split('/')[0] ?? '')) continue
    const path = join(folder, name)
    const stat = await lstat(path)
    hash.update(JSON.stringify([name, stat.mode, stat.isDirectory() ? 0 : stat.mtimeMs]))
    if (stat.isFile()) hash.update(await readFile(path))
    else if (stat.isSymbolicLink()) hash.update(await readlink(path))
  }
  return hash.digest('hex')
}

/**
 * Removes all that an agent left in a folder.
 *
 * @param {string} folder
 */
export async function emptyTree(folder) {
  for (const name of await readdir(folder)) {
    if (!ours.test(name)) await rm(join(folder, name), { recursive: true })
  }
}
