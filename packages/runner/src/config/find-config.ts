import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { foldersUp } from '../package-root.js'

const NAMES = ['ts', 'mts', 'mjs', 'js', 'json'].map((extension) => `retake.config.${extension}`)

export function findConfig(folder: string): string | undefined {
  const above = foldersUp(folder)
  const folderWith = (name: string): string | undefined =>
    above.find((each) => existsSync(path.join(each, name)))
  // Searches up to the repository of `folder`, else the nearest package, else `folder` itself.
  const root = folderWith('.git') ?? folderWith('package.json') ?? folder
  return above
    .slice(0, above.indexOf(root) + 1)
    .flatMap((each) => NAMES.map((name) => path.join(each, name)))
    .find(isFile)
}

const isFile = (file: string): boolean =>
  statSync(file, { throwIfNoEntry: false })?.isFile() ?? false
