import { foldersUp } from '@retake/runner/package-root'
import { attempt } from '@retake/tape/format'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { outsideRuns } from '@retake/engine'
import { cliErrors } from '@retake/runner/errors'

const wrapped = new WeakSet<object>()

/**
 * Wraps methods of an object with `around`, which can call the original. Changes the object itself.
 * Skips methods that do not exist or are already wrapped.
 */
export function wrapCalls(
  object: object,
  names: readonly string[],
  around: (call: () => unknown) => unknown,
): void {
  for (const name of names) {
    const original: unknown = Reflect.get(object, name)
    if (typeof original !== 'function' || wrapped.has(original)) continue
    const value = (...args: unknown[]): unknown =>
      around(() => Reflect.apply(original, object, args) as unknown)
    wrapped.add(value)
    Object.defineProperty(object, name, { value, configurable: true, writable: true })
  }
}

/** Makes a program-wide setup idempotent: until its undo, further calls change nothing. */
export function oncePerProgram<A extends readonly unknown[]>(
  setUp: (...args: A) => () => void,
): (...args: A) => () => void {
  let undo: (() => void) | undefined
  return (...args) => {
    if (undo !== undefined) return undo
    const undoSetUp = setUp(...args)
    undo = () => {
      undo = undefined
      undoSetUp()
    }
    return undo
  }
}

export interface SupportedVersion {
  readonly package: string
  /** First supported version, for example `1.2`. */
  readonly from: string
  /** Last supported major version. */
  readonly to: string
}

/** Throws for unsupported versions of a framework. Accepts an unknown version. */
export function requireVersion({ package: name, from, to }: SupportedVersion): void {
  const version = outsideRuns(() => installedVersion(name))
  if (version === undefined) return
  // Ignores a suffix such as `-beta.1`.
  const [number = ''] = version.split('-')
  const isNewEnough = compare(number, from) >= 0
  const isKnown = compare(number.split('.')[0] ?? '', to) <= 0
  if (!isNewEnough || !isKnown)
    throw cliErrors.FRAMEWORK_NOT_SUPPORTED(name, version, `${from} to ${to}.x`)
}

/** The version that the program itself would load, or else the one next to Retake. */
function installedVersion(name: string): string | undefined {
  const starts = [
    dirname(process.argv[1] ?? ''),
    process.cwd(),
    dirname(fileURLToPath(import.meta.url)),
  ]
  for (const folder of starts.flatMap(foldersUp)) {
    const file = join(folder, 'node_modules', name, 'package.json')
    const manifest = attempt(() => JSON.parse(readFileSync(file, 'utf8')) as { version?: string })
    if (manifest?.version !== undefined) return manifest.version
  }
  return undefined
}

/** Compares dotted numbers. */
const compare = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true })
