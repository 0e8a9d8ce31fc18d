import { useCommandRoot } from '@retake/runner/package-root'

/** The folder of this package, for files one level below: `src`, `dist` and `bundle`. */
export const cliRoot = new URL('..', import.meta.url)

/** File of an entry point that a process or thread starts with. */
export const cliEntry = (name: string): URL => new URL(`bundle/${name}.js`, cliRoot)

useCommandRoot(cliRoot)
