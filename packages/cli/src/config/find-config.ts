import { existsSync, statSync } from 'node:fs'
import path from 'node:path'

const NAMES = ['ts', 'mts', 'mjs', 'js', 'json'].map((extension) => `retake.config.${extension}`)

/** The nearest config file at or above `folder`, up to the root of its project. */
export function findConfig(folder: string): string | undefined {
  const root = rootOf(folder)
  for (let here = folder; ; here = path.dirname(here)) {
    const file = NAMES.map((name) => path.join(here, name)).find(isFile)
    if (file !== undefined || here === root) return file
  }
}

/** The repository that `folder` is in; without one the nearest package, or `folder` itself. */
function rootOf(folder: string): string {
  const above = [folder]
  for (let here = folder; here !== path.dirname(here); here = path.dirname(here))
    above.push(path.dirname(here))
  const holding = (name: string): string | undefined =>
    above.find((each) => existsSync(path.join(each, name)))
  return holding('.git') ?? holding('package.json') ?? folder
}

const isFile = (file: string): boolean =>
  statSync(file, { throwIfNoEntry: false })?.isFile() ?? false
