import { access, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { root, runCommand } from './run-command.mjs'

/**
 * Path of a Node of this major version: the one that runs this script, or one
 * from the package registry, kept in `.nodes/`.
 *
 * @param {string} major For example `22`.
 * @returns {Promise<string>}
 */
export async function findNode(major) {
  if (process.versions.node.split('.')[0] === major) return process.execPath
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${platform}-${process.arch}`
  const prefix = join(root, '.nodes', major)
  const path = join(prefix, 'node_modules', name, 'bin', platform === 'win' ? 'node.exe' : 'node')
  try {
    await access(path)
  } catch {
    console.error(`Getting Node ${major} (${name})`)
    await mkdir(prefix, { recursive: true })
    const install = ['i', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund']
    const { ok, output } = await runCommand('npm', [
      ...install,
      '--prefix',
      prefix,
      `${name}@${major}`,
    ])
    if (!ok) throw new Error(`npm could not install ${name}@${major}:\n${output}`)
    await access(path)
  }
  return path
}
