import { resolvePath } from '../../bounds/resolve-path.js'

/** Files that a loader reads: modules in any language, their manifests, and everything in packages. */
const CODE = /\.(?:[cm]?[jt]sx?|node|wasm|map)$|[\\/]package\.json$|[\\/]node_modules[\\/]/i

/** Functions that a loader calls to find a module. */
const LOOKS = new Set(['exists', 'lstat', 'readlink', 'realpath', 'stat'])

/**
 * True if Node may make this call for itself while a guarded tool runs. It loads modules
 * from anywhere, as they are the program; data that is loaded like a module is checked,
 * where Node reads it through `node:fs` at all. ESM `import` bypasses `node:fs`, so it never reaches this check.
 */
export const isCode = (name: string, location: unknown): boolean =>
  LOOKS.has(name) || (name === 'readFile' && CODE.test(resolvePath(textOf(location))?.real ?? ''))

const textOf = (location: unknown): string =>
  typeof location === 'string' ? location : location instanceof URL ? location.pathname : ''
