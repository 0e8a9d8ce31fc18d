import { existsSync } from 'node:fs'

/** The nearest folder above a file that has a package.json. */
const rootAbove = (folder: URL): URL =>
  existsSync(new URL('package.json', folder)) ? folder : rootAbove(new URL('..', folder))

/** The folder of this package, from sources and from bundles. */
export const webRoot = rootAbove(new URL('.', import.meta.url))

/** File of an entry point that a process or thread starts with. */
export const webEntry = (name: string): URL => new URL(`bundle/${name}.js`, webRoot)
