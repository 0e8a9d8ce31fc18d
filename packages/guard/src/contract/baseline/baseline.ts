import { isRecord } from '@retake/tape/format'
import { GuardError } from '../../guard-error.js'
import { contractErrors } from '../contract-errors.js'

/** Reads a stored baseline: data, or JSON text of it. Throws for anything else. */
export function readBaseline(given: unknown): Baseline {
  const read = typeof given === 'string' ? parse(given) : given
  const wrong = problemIn(read)
  if (wrong !== undefined) throw new GuardError(contractErrors.baselineInvalid(wrong))
  return read as Baseline
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new GuardError(contractErrors.baselineInvalid('It is no JSON.'), { cause })
  }
}

function problemIn(read: unknown): string | undefined {
  if (!isRecord(read) || !isRecord(read['tools'])) return 'It has no "tools".'
  if (read['version'] !== 1) return `It has version ${JSON.stringify(read['version'])}, not 1.`
  if (read['ignore'] !== undefined && !isTexts(read['ignore']))
    return '"ignore" is no list of texts.'
  for (const [tool, known] of Object.entries(read['tools'])) {
    if (!isRecord(known) || !isCount(known['calls']) || !isRecord(known['arguments']))
      return `"${tool}" has no "calls" or no "arguments".`
    for (const [path, each] of Object.entries(known['arguments']))
      if (!isArgument(each)) return `Argument ${path} of "${tool}" is not one of a baseline.`
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
  /** Arguments that are not compared, by path or last name, beside those that never are. */
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
  /** How often it was of which type. */
  readonly types: Readonly<Record<string, number>>
  readonly numbers?: Spread
  /** Of texts, in characters. */
  readonly lengths?: Spread
  readonly shapes?: readonly string[]
  /** All values there were, when they were few and came again and again. */
  readonly values?: readonly (string | boolean)[]
  /** Hosts of addresses, and domains of mail addresses. */
  readonly hosts?: readonly string[]
}

export interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
}
