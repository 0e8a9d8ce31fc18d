import { resolvePlace } from '../../bounds/resolve-place.js'

/** What a loader reads: modules in any language, what describes them, and everything in packages. */
const CODE = /\.(?:[cm]?[jt]sx?|node|wasm|map)$|[\\/]package\.json$|[\\/]node_modules[\\/]/i

/** What a loader looks at to find a module. */
const LOOKS = new Set(['exists', 'lstat', 'readlink', 'realpath', 'stat'])

/**
 * Whether Node may make this call for itself while a guarded tool runs. It loads modules
 * from anywhere, as they are the program; data that is loaded like a module is asked about,
 * where Node reads it through `node:fs` at all. What `import` reads, it reads without.
 */
export const isCode = (name: string, place: unknown): boolean =>
  LOOKS.has(name) || (name === 'readFile' && CODE.test(resolvePlace(textOf(place))?.real ?? ''))

const textOf = (place: unknown): string =>
  typeof place === 'string' ? place : place instanceof URL ? place.pathname : ''
