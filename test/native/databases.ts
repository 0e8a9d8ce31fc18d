import { createHash } from 'node:crypto'
import { mkdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNode } from '../../scripts/find-node.mjs'
import { findPackage } from '../../scripts/find-package.mjs'
import { cli, folderWith } from '../cli/workspace.js'
import { run, type Finished } from '../support/run-retake.mjs'

/** Oldest Node that has `node:sqlite`, and for which better-sqlite3 ships binaries in its package. */
const NODE = '22'
const BETTER_SQLITE3 = '13.0.3'

/** Why these tests cannot run here, for their titles; undefined when they can. */
export const missing: string | undefined = await Promise.all([
  findNode(NODE),
  findPackage('better-sqlite3', BETTER_SQLITE3),
]).then(
  () => undefined,
  (error: unknown) => String(error).split('\n')[0],
)

/** The libraries under test: how a program imports them, and opens a database. */
export const libraries = [
  {
    name: 'better-sqlite3',
    head: `import Database from 'better-sqlite3'\nconst open = (...args) => new Database(...args)\n`,
  },
  {
    name: 'node:sqlite',
    head: `import { DatabaseSync } from 'node:sqlite'\nconst open = (...args) => new DatabaseSync(...args)\n`,
  },
] as const

/** A folder with these programs, in which Retake runs on a Node that has both libraries. */
export async function databaseFolder(
  files: Readonly<Record<string, string>>,
  major = NODE,
): Promise<{
  readonly folder: string
  readonly node: (args: readonly string[]) => Promise<Finished>
  readonly retake: (args: readonly string[]) => Promise<Finished>
  /** Digest of a file, to see that nothing has touched it. */
  readonly digest: (file: string) => Promise<string>
}> {
  const { folder } = await folderWith(files)
  const node = await findNode(major)
  await mkdir(join(folder, 'node_modules', '@retake'), { recursive: true })
  const links = {
    'better-sqlite3': await findPackage('better-sqlite3', BETTER_SQLITE3),
    '@retake/engine': fileURLToPath(new URL('../../packages/engine', import.meta.url)),
  }
  for (const [name, target] of Object.entries(links))
    await symlink(target, join(folder, 'node_modules', name))
  return {
    folder,
    node: (args) => run(node, args, folder),
    retake: (args) => run(node, [cli, ...args], folder),
    digest: async (file) =>
      createHash('sha256')
        .update(await readFile(join(folder, file)))
        .digest('hex'),
  }
}
