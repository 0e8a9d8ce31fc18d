import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import { decodeBody, encodeBody, attempt } from '@retake/tape/format'
import { natives } from '../../kernel/natives.js'
import { Dirent, typeOfEntry } from '../../overlay/disk.js'
import { nativeFs } from './file-natives.js'
import type { ResultForm } from '../patching/captured-call.js'

/**
 * Results of `stat` and similar functions: stores the numbers, from which dates and methods follow.
 */
export const stats = mapped(numbersOf, statsOf)

export function statsOf(fields: Readonly<Record<string, unknown>>): object {
  // Node 22 and later compute the dates in getters of the prototype.
  const result = withNumbers(isBig(fields) ? prototypes.bigIntStats : fs.Stats.prototype, fields)
  const numbers = result as Record<string, unknown>
  for (const name of ['atime', 'mtime', 'ctime', 'birthtime']) {
    if (name in result) continue
    numbers[name] = new natives.Date(Math.round(Number(numbers[`${name}Ms`])))
  }
  return result
}

export const statFs = mapped(numbersOf, (fields) =>
  withNumbers(isBig(fields) ? prototypes.bigIntStatFs : prototypes.statFs, fields),
)

/** One entry of a folder, or null after the last. */
export const entry = mapped(describeEntry, rebuildEntry)

/** A listing: names, or entries with their types. */
export const entries = mapped(
  (list) => (list as unknown[]).map(describeEntry),
  (list) => (list as unknown as unknown[]).map(rebuildEntry),
)

/** Stores `describe(value)` instead of the value; undefined and null stay as they are. */
function mapped(
  describe: (value: unknown) => unknown,
  rebuild: (wire: Readonly<Record<string, unknown>>) => unknown,
): ResultForm {
  return {
    encode: (value) => (value === undefined ? {} : encodeBody(describe(value))),
    decode: (as, body) => (as === undefined ? undefined : rebuild(decodeBody(as, body) as never)),
  }
}

/** Node 26 stores fractions of a second under symbols; their key on the tape is `@` and the description. */
export function numbersOf(value: unknown): Record<string, number | bigint> {
  const numbers: Record<string, number | bigint> = {}
  for (const key of Reflect.ownKeys(value as object)) {
    const field = (value as Record<PropertyKey, unknown>)[key]
    const name = typeof key === 'string' ? key : `@${key.description}`
    if (typeof field === 'number' || typeof field === 'bigint') numbers[name] = field
  }
  return numbers
}

const isBig = (fields: object): boolean => typeof Object.values(fields)[0] === 'bigint'

function withNumbers(prototype: object, fields: Readonly<Record<string, unknown>>): object {
  const result = Object.create(prototype) as Record<PropertyKey, unknown>
  for (const [name, value] of Object.entries(fields)) {
    const key = name.startsWith('@') ? statSymbols.get(name.slice(1)) : name
    if (key !== undefined) result[key] = value
  }
  return result
}

/** A file that can be read under Node's permission model, too. */
const READABLE = fileURLToPath(import.meta.url)

const statSymbols = new Map(
  Object.getOwnPropertySymbols(nativeFs['statSync']?.(READABLE)).map((key) => [
    key.description,
    key,
  ]),
)

/** Classes that Node does not export, taken from instances. */
const prototypes = {
  bigIntStats: prototypeOf('statSync', { bigint: true }),
  statFs: prototypeOf('statfsSync'),
  bigIntStatFs: prototypeOf('statfsSync', { bigint: true }),
}

function prototypeOf(name: string, options?: object): object {
  const found = (): object => Object.getPrototypeOf(nativeFs[name]?.(READABLE, options)) as object
  return attempt(found, Object.prototype)
}

function describeEntry(item: unknown): unknown {
  if (!(item instanceof fs.Dirent)) return item
  const parent = (item as { parentPath?: unknown }).parentPath ?? item.path
  return { name: item.name as unknown, parent, type: typeOfEntry(item) }
}

function rebuildEntry(wire: unknown): unknown {
  if (typeof wire !== 'object' || wire === null || ArrayBuffer.isView(wire)) return wire
  const { name, parent, type } = wire as { name: unknown; parent: unknown; type: unknown }
  return new Dirent(name, type, parent)
}
