import { access, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { root, runCommand } from './run-command.mjs'

/**
 * Folder of a package from the registry that is not a dependency of this repository,
 * kept in `.nodes/packages/`. Its install scripts do not run.
 *
 * @param {string} name
 * @param {string} version Exact.
 * @returns {Promise<string>}
 */
export async function findPackage(name, version) {
  const prefix = join(root, '.nodes', 'packages', `${name.replace('/', '+')}@${version}`)
  const folder = join(prefix, 'node_modules', name)
  try {
    await access(folder)
  } catch {
    await mkdir(prefix, { recursive: true })
    const flags = ['--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--prefix', prefix]
    const { ok, output } = await runCommand('npm', ['i', ...flags, `${name}@${version}`])
    if (!ok) throw new Error(`npm could not install ${name}@${version}:\n${output}`)
    await access(folder)
  }
  return folder
}
