import { readFileSync } from 'node:fs'
import path from 'node:path'

/** The folder of this package, for files one level below: `src`, `dist` and `bundle`. */
const runnerRoot = new URL('..', import.meta.url)

/** File of an entry point that a process, thread or loader starts with. */
export const runnerEntry = (name: string): URL => new URL(`bundle/${name}.js`, runnerRoot)

/** All packages are released together, with one version. */
export function version(): string {
  const manifest = readFileSync(new URL('package.json', runnerRoot), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

let command = new URL('../../cli/', import.meta.url)

/** The folder of the package `retake`, which has the command and depends on this package. */
export const commandRoot = (): URL => command

/** Called by the package `retake` when it is loaded. */
export function useCommandRoot(folder: URL): void {
  command = folder
}

/** A folder and its ancestors, up to the root. */
export function foldersUp(folder: string): string[] {
  const above = path.dirname(folder)
  return above === folder ? [folder] : [folder, ...foldersUp(above)]
}
