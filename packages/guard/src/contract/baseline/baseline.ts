import { isRecord } from '@retake/tape/format'
import { GuardError } from '../../guard-error.js'
import { contractErrors } from '../contract-errors.js'
import { typeOf } from '../type-of.js'

const LOOKED_AT = 300

/** Coarse shape of a text, by its beginning. */
export function textShape(text: string): string {
  const looked = text.slice(0, LOOKED_AT)
  return SHAPES.find(([, pattern]) => pattern.test(looked))?.[0] ?? 'text'
}

const SHAPES: readonly (readonly [string, RegExp])[] = [
  ['empty', /^\s*$/],
  ['address', /^[a-z][a-z\d+.-]{1,20}:\/\//i],
  ['mail address', /^[^\s@]+@[^\s@]+\.[^\s@]+$/],
  ['date', /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?$/],
  ['number', /^[+-]?\d+(?:[.,]\d+)*$/],
  ['id', /^(?:[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}|[\da-f]{16,})$/i],
  ['path', /^(?:\.{0,2}[/\\]|~[/\\]|[a-z]:[/\\])|(?:^|[/\\])\.\.(?:[/\\]|$)/i],
  ['JSON', /^\s*[[{]/],
  ['code', /[`$;|<>]|&&|\w\(/],
]

const LONGEST_ADDRESS = 8_000

/** The host of a URL, or the domain of a mail address. */
export function hostIn(text: string): string | undefined {
  if (text.length > LONGEST_ADDRESS) return undefined
  const mail = /^[^\s@]{1,300}@([^\s@.]+(?:\.[^\s@.]+)+)$/.exec(text)?.[1]
  if (mail !== undefined) return mail.toLowerCase()
  if (!/^[a-z][a-z\d+.-]{1,20}:\/\//i.test(text)) return undefined
  try {
    return new URL(text).hostname.toLowerCase()
  } catch {
    return undefined
  }
}

/** Further arguments are ignored. */
const MOST = 5_000

/** Names of arguments that differ in every call, without case, `_` and `-`. */
const NEVER = new Set([
  'correlationid',
  'createdat',
  'idempotencykey',
  'nonce',
  'requestid',
  'runid',
  'sessionid',
  'spanid',
  'stepid',
  'timestamp',
  'traceid',
  'updatedat',
])

interface Argument {
  readonly path: string
  readonly value: unknown
}

/**
 * The single values in the arguments of a call. Members of a list share a path, except for those of
 * the outermost list, which are the arguments of a function.
 */
export function eachArgument(args: unknown, ignore: readonly string[] = []): Argument[] {
  const found: Argument[] = []
  const visit = (value: unknown, path: string, name: string): void => {
    if (found.length >= MOST) return
    if (NEVER.has(name.toLowerCase().replace(/[_-]/g, ''))) return
    if (ignore.includes(path) || (name !== '' && ignore.includes(name))) return
    if (Array.isArray(value))
      for (const [index, member] of value.entries())
        visit(member, path === '' ? `[${index}]` : `${path}[]`, '')
    else if (typeOf(value) === 'object')
      for (const [key, member] of Object.entries(value as object))
        visit(member, path === '' ? key : `${path}.${key}`, key)
    else if (value !== undefined) found.push({ path, value })
  }
  visit(args, '', '')
  return found
}

/** Reads a stored baseline: data, or JSON text of it. Throws for anything else. */
export function readBaseline(given: unknown): Baseline {
  const read = typeof given === 'string' ? parse(given) : given
  const wrong = problemIn(read)
  if (wrong !== undefined) throw new GuardError(contractErrors.BASELINE_INVALID(wrong))
  return read as Baseline
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new GuardError(contractErrors.BASELINE_INVALID('It is not JSON.'), { cause })
  }
}

function problemIn(read: unknown): string | undefined {
  if (!isRecord(read) || !isRecord(read['tools'])) return 'It has no "tools".'
  if (read['version'] !== 1) return `It has version ${JSON.stringify(read['version'])}, not 1.`
  if (read['ignore'] !== undefined && !isTexts(read['ignore']))
    return '"ignore" is not a list of texts.'
  for (const [tool, known] of Object.entries(read['tools'])) {
    if (!isRecord(known) || !isCount(known['calls']) || !isRecord(known['arguments']))
      return `"${tool}" has no "calls" or no "arguments".`
    for (const [path, each] of Object.entries(known['arguments']))
      if (!isArgument(each)) return `Argument ${path} of "${tool}" is not valid.`
  }
  return undefined
}

function isArgument(each: unknown): each is ArgumentBaseline {
  if (!isRecord(each) || !isCount(each['calls']) || !isRecord(each['types'])) return false
  const { numbers, lengths, shapes, hosts, values } = each
  return (
    (numbers === undefined || isSpread(numbers)) &&
    (lengths === undefined || isSpread(lengths)) &&
    (shapes === undefined || isTexts(shapes)) &&
    (hosts === undefined || isTexts(hosts)) &&
    (values === undefined || Array.isArray(values))
  )
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0
const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
const isSpread = (value: unknown): value is Spread =>
  isRecord(value) && ['min', 'median', 'max'].every((key) => typeof value[key] === 'number')

/** Statistics of arguments in earlier runs, by tool and path. Plain data that can be stored in a file. */
export interface Baseline {
  readonly version: 1
  readonly tools: Readonly<Record<string, ToolBaseline>>
  /** Arguments that are not compared, by path or last name. */
  readonly ignore?: readonly string[]
}

export interface ToolBaseline {
  readonly calls: number
  /** By path, with `[]` for the members of a list: `items[].price`. */
  readonly arguments: Readonly<Record<string, ArgumentBaseline>>
}

/** Statistics of one argument. */
export interface ArgumentBaseline {
  /** Calls that had it. */
  readonly calls: number
  /** Number of calls by type. */
  readonly types: Readonly<Record<string, number>>
  readonly numbers?: Spread
  /** Of texts, in characters. */
  readonly lengths?: Spread
  readonly shapes?: readonly string[]
  /** All values, if they were few and repeated. */
  readonly values?: readonly (string | boolean)[]
  /** Hosts of addresses, and domains of mail addresses. */
  readonly hosts?: readonly string[]
}

export interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
}
