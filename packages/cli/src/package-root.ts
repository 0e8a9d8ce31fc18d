import path from 'node:path'
import { readFileSync } from 'node:fs'

/** The folder of this package, for files one level below: `src`, `dist` and `bundle`. */
export const cliRoot = new URL('..', import.meta.url)

/** File of an entry point that a process, thread or loader starts with. */
export const cliEntry = (name: string): URL => new URL(`bundle/${name}.js`, cliRoot)

export function version(): string {
  const manifest = readFileSync(new URL('package.json', cliRoot), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** A folder and its ancestors, up to the root. */
export function foldersUp(folder: string): string[] {
  const above = path.dirname(folder)
  return above === folder ? [folder] : [folder, ...foldersUp(above)]
}
