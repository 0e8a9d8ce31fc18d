import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = new URL('../newest/', import.meta.url)

/** Path of a program whose imports lead to the packages of test/newest. */
export const newestPath = (name: string): string =>
  fileURLToPath(new URL(`frameworks/${name}`, folder))

/**
 * True where the packages of test/newest are installed and this Node can run
 * them. `npm run test:newest` sees to both; elsewhere such tests are skipped.
 */
export const hasNewest =
  Number(process.versions.node.split('.')[0]) >= 22 &&
  existsSync(new URL('node_modules/.package-lock.json', folder))
