import { resolvePath } from '../../bounds/resolve-path.js'

/** What a loader reads: modules in any language, what describes them, and everything in packages. */
const CODE = /\.(?:[cm]?[jt]sx?|node|wasm|map)$|[\\/]package\.json$|[\\/]node_modules[\\/]/i

/** What a loader looks at to find a module. */
const LOOKS = new Set(['exists', 'lstat', 'readlink', 'realpath', 'stat'])

/**
 * Whether Node may make this call for itself while a guarded tool runs. It loads modules
 * from anywhere, as they are the program; data that is loaded like a module is asked about,
 * where Node reads it through `node:fs` at all. What `import` reads, it reads without.
 */
export const isCode = (name: string, location: unknown): boolean =>
  LOOKS.has(name) || (name === 'readFile' && CODE.test(resolvePath(textOf(location))?.real ?? ''))

const textOf = (location: unknown): string =>
  typeof location === 'string' ? location : location instanceof URL ? location.pathname : ''
