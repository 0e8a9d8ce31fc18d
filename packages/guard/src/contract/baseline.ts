import { number, oneWord, required, type TypeOfFields } from '@retake/engine/schema'
import { type ArgumentDrift, type DriftReason, factsOf, guardedCalls } from '@retake/tape/guards'
import { decodeBody, isRecord, type TapeLike, attempt } from '@retake/tape/format'
import { looksSecret } from '@retake/engine/hook'
import { GuardError } from '../denials/guard-error.js'
import { contractErrors } from './contract.js'
import { typeOf } from './type-of.js'
import type { PolicyJudgement } from '../policy/compiled-policy.js'

const LOOKED_AT = 300

function textShape(text: string): string {
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

const LONGEST_MAIL_TEXT = 8_000

/** The hosts of a URL as programs read it, or of a list of email addresses. */
function hostsIn(text: string): readonly string[] {
  const url = text
    .trim()
    .replaceAll(/[\t\n\r]/g, '')
    .replace(/^[/\\]{2,}/, 'https://')
  if (/^(?:(?:https?|wss?|ftp):|[a-z][a-z\d+.-]{1,20}:\/\/)/i.test(url)) {
    const host = attempt(() => new URL(url).hostname.toLowerCase().replace(/\.$/, ''))
    return host === undefined ? [] : [host]
  }
  if (url.length > LONGEST_MAIL_TEXT) return []
  const [first, ...others] = url
    .replace(/^mailto:/i, '')
    .split(/[,;]/)
    .map(mailHost)
  return first === undefined ? [] : [first, ...others].filter((host) => host !== undefined)
}

const mailHost = (text: string): string | undefined =>
  /^(?:[^<>@]{0,300}<)?[^\s@<>]{1,300}@([^\s@.<>]+(?:\.[^\s@.<>]+)+)>?$/
    .exec(text.trim())?.[1]
    ?.toLowerCase()

/** Values per call that a baseline learns from. */
const LEARNED_MAX = 5_000

/** Arguments that differ in every call, in lower case without `_` and `-`. */
const VARYING_NAMES = new Set([
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
 * The leaf values in the arguments of a call. Members of a list share a path, except those of the
 * outermost list, which are the arguments of a function.
 */
function eachArgument(
  args: unknown,
  ignore: readonly string[] = [],
  most = Number.POSITIVE_INFINITY,
): Argument[] {
  const found: Argument[] = []
  const visit = (value: unknown, path: string, name: string): void => {
    if (found.length >= most) return
    if (VARYING_NAMES.has(name.toLowerCase().replace(/[_-]/g, ''))) return
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

/** Reads a stored baseline, as data or as JSON. Throws if it is not valid. */
export function readBaseline(given: unknown): Baseline {
  let read = given
  try {
    if (typeof given === 'string') read = JSON.parse(given)
  } catch (cause) {
    throw new GuardError(contractErrors.BASELINE_INVALID('It is not JSON.'), { cause })
  }
  const wrong = problemIn(read)
  if (wrong !== undefined) throw new GuardError(contractErrors.BASELINE_INVALID(wrong))
  return read as Baseline
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

/** Statistics of arguments in earlier runs, by tool and path. Plain data, for a file. */
export interface Baseline {
  readonly version: 1
  readonly tools: Readonly<Record<string, ToolBaseline>>
  /** Arguments that are not compared, by path or last name. */
  readonly ignore?: readonly string[]
}

interface ToolBaseline {
  readonly calls: number
  /** By path, with `[]` for the members of a list: `items[].price`. */
  readonly arguments: Readonly<Record<string, ArgumentBaseline>>
}

interface ArgumentBaseline {
  /** Number of calls with this argument. */
  readonly calls: number
  /** Number of values by type. */
  readonly types: Readonly<Record<string, number>>
  readonly numbers?: Spread
  /** Lengths of strings, in characters. */
  readonly lengths?: Spread
  readonly shapes?: readonly string[]
  /** All values, if there were few and they repeated. */
  readonly values?: readonly (string | boolean)[]
  /** Hosts of URLs, and domains of email addresses. */
  readonly hosts?: readonly string[]
}

interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
}

export interface BaselineOptions {
  /** Arguments that are not compared, by path or last name: `query`, `items[].sku`. */
  readonly ignore?: readonly string[]
}

/** Statistics of the arguments of successful tool calls, guarded or not, in recorded runs. */
export function baselineFrom(tapes: Iterable<TapeLike>, options: BaselineOptions = {}): Baseline {
  const { ignore = [] } = options
  const tools = new Map<string, ToolNotes>()
  for (const tape of tapes)
    for (const { tool, args } of callsOf(tape)) {
      const notes = tools.get(tool) ?? new ToolNotes()
      tools.set(tool, notes)
      notes.add(eachArgument(args, ignore, LEARNED_MAX))
    }
  const entries = [...tools].map(([name, notes]) => [name, notes.baseline()] as const)
  return {
    version: 1,
    tools: Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1))),
    ...(ignore.length > 0 && { ignore }),
  }
}

function* callsOf(tape: TapeLike): Iterable<{ readonly tool: string; readonly args: unknown }> {
  const succeeded = new Set<number>()
  for (const event of tape.events())
    if (event.type === 'result' && event.error === undefined) {
      const { status = 'done', served } = factsOf(event) ?? {}
      if (status === 'done' && served === undefined) succeeded.add(event.op)
    }
  for (const event of tape.events())
    if (event.type === 'call' && event.kind === 'tool' && succeeded.has(event.seq))
      yield* readable(event.name, () => decodeBody(event.as ?? 'json', tape.body(event.seq)))
  for (const call of guardedCalls(tape))
    if (call.isNested && call.state === 'done' && call.facts?.served === undefined)
      yield* readable(call.tool, () => call.args())
}

/** Arguments that cannot be rebuilt, which no recorder of this version writes, teach nothing. */
const readable = (tool: string, read: () => unknown): { tool: string; args: unknown }[] =>
  attempt(() => [{ tool, args: read() }], [])

class ToolNotes {
  #calls = 0
  readonly #arguments = new Map<string, ArgumentNotes>()

  add(found: ReturnType<typeof eachArgument>): void {
    this.#calls += 1
    for (const { path, value } of found) {
      const notes = this.#arguments.get(path) ?? new ArgumentNotes()
      this.#arguments.set(path, notes)
      notes.add(value, this.#calls)
    }
  }

  baseline(): ToolBaseline {
    const entries = [...this.#arguments].map(([path, notes]) => [path, notes.baseline()] as const)
    return { calls: this.#calls, arguments: Object.fromEntries(entries) }
  }
}

/** With at most this many values, each seen this often on average, a new value is unusual. */
const VALUES_MAX = 20
const SEEN_EACH = 3
const VALUE_LENGTH_MAX = 60
const HOSTS_MAX = 200

class ArgumentNotes {
  #calls = 0
  #lastCall = 0
  #choices = 0
  readonly #types = new Map<string, number>()
  readonly #numbers: number[] = []
  readonly #lengths: number[] = []
  readonly #shapes = new Set<string>()
  readonly #hosts = new Set<string>()
  readonly #values = new Set<string | boolean>()

  add(value: unknown, call: number): void {
    if (call !== this.#lastCall) this.#calls += 1
    this.#lastCall = call
    const type = typeOf(value)
    this.#types.set(type, (this.#types.get(type) ?? 0) + 1)
    if (typeof value === 'number' || typeof value === 'bigint') this.#numbers.push(Number(value))
    if (typeof value === 'boolean') this.#choose(value)
    if (typeof value !== 'string') return
    this.#lengths.push(value.length)
    this.#shapes.add(textShape(value))
    for (const host of hostsIn(value)) if (this.#hosts.size <= HOSTS_MAX) this.#hosts.add(host)
    this.#choose(value)
  }

  #choose(value: string | boolean): void {
    this.#choices += 1
    if (this.#values.size <= VALUES_MAX) this.#values.add(value)
  }

  baseline(): ArgumentBaseline {
    const values = [...this.#values]
    const isClosed =
      values.length > 0 &&
      values.length <= VALUES_MAX &&
      values.length * SEEN_EACH <= this.#choices &&
      values.every(
        (each) =>
          typeof each === 'boolean' ||
          (each.length <= VALUE_LENGTH_MAX &&
            !looksSecret(each) &&
            !each.includes('retake-hidden')),
      )
    const hosts = [...this.#hosts]
    return {
      calls: this.#calls,
      types: Object.fromEntries(this.#types),
      ...(this.#numbers.length > 0 && { numbers: spreadOf(this.#numbers) }),
      ...(this.#lengths.length > 0 && { lengths: spreadOf(this.#lengths) }),
      ...(this.#shapes.size > 0 && { shapes: [...this.#shapes].toSorted() }),
      ...(isClosed && { values }),
      ...(hosts.length > 0 && hosts.length <= HOSTS_MAX && { hosts: hosts.toSorted() }),
    }
  }
}

function spreadOf(numbers: readonly number[]): Spread {
  const sorted = numbers.filter((each) => !Number.isNaN(each)).toSorted((a, b) => a - b)
  const at = (index: number): number => sorted[index] ?? 0
  const middle = (sorted.length - 1) / 2
  const median = (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2
  return { min: at(0), median, max: at(sorted.length - 1) }
}

const CALLS_MIN = 5

/** Weight of each kind of difference. A score is their sum: 5 is worth a look, 10 is alarming. */
const DRIFT_WEIGHTS = {
  /** Data goes to a new host, which is the usual aim of a prompt injection. */
  host: 15,
  type: 10,
  /** At least five times the largest value, such as an amount in cents. */
  numberFar: 10,
  /** At least twice the largest value, far smaller than all, or negative for the first time. */
  numberBeyond: 5,
  numberOutside: 1,
  /** A sentence became a path, a URL or code. */
  shape: 5,
  added: 5,
  /** An argument that every earlier call had. Often harmless, because tools have defaults. */
  missing: 3,
  /** A new value of an argument that had few. */
  value: 3,
  /** Strings vary in length, so only much longer ones count. */
  textFar: 5,
  textBeyond: 2,
} as const

const FAR = 5
const BEYOND = 2

/** Compares the arguments of a call with those of earlier runs. Tools with few calls score 0. */
export function driftScore(baseline: Baseline, tool: string, args: unknown): ArgumentDrift {
  const known = Object.hasOwn(baseline.tools, tool) ? baseline.tools[tool] : undefined
  if (known === undefined || known.calls < CALLS_MIN)
    return { score: 0, reasons: [], calls: known?.calls ?? 0 }
  const found = eachArgument(args, baseline.ignore)
  const reasons = new Map<string, DriftReason>()
  const add = (path: string, kind: keyof typeof DRIFT_WEIGHTS, what: string): void => {
    const key = `${kind} ${path}`
    if (!reasons.has(key)) reasons.set(key, { path, what, weight: DRIFT_WEIGHTS[kind] })
  }
  for (const { path, value } of found) {
    const before = Object.hasOwn(known.arguments, path) ? known.arguments[path] : undefined
    if (before === undefined) add(path, 'added', `none of ${known.calls} calls had it`)
    else if (before.calls >= CALLS_MIN)
      compare(before, value, (kind, what) => add(path, kind, what))
    if (before?.hosts === undefined) newHost(undefined, value, (what) => add(path, 'host', what))
  }
  const given = new Set(found.map(({ path }) => path))
  for (const [path, { calls, types }] of Object.entries(known.arguments)) {
    if (given.has(path) || path.includes('[]')) continue
    const isContainer = [...given].some(
      (each) => each.startsWith(path) && /^(?:\[\]|\.)/.test(each.slice(path.length)),
    )
    if (isContainer)
      add(path, 'type', `it is a list or an object, was ${Object.keys(types).join(' or ')}`)
    else if (calls === known.calls) add(path, 'missing', `all of ${calls} calls had it`)
  }
  const all = [...reasons.values()].toSorted((a, b) => b.weight - a.weight)
  const score = all.reduce((sum, { weight }) => sum + weight, 0)
  return { score, reasons: all, calls: known.calls }
}

type Add = (kind: keyof typeof DRIFT_WEIGHTS, what: string) => void

function compare(before: ArgumentBaseline, value: unknown, add: Add): void {
  const type = typeOf(value)
  if (!Object.hasOwn(before.types, type))
    return add('type', `it is ${type}, was ${Object.keys(before.types).join(' or ')}`)
  if (before.numbers && (typeof value === 'number' || typeof value === 'bigint'))
    compareNumber(before.numbers, Number(value), add)
  const isOther = (each: string | boolean): boolean => before.values?.includes(each) === false
  if (typeof value === 'boolean' && isOther(value)) add('value', `it was never ${value}`)
  if (typeof value !== 'string') return
  if (before.hosts) newHost(before.hosts, value, (what) => add('host', what))
  if (isOther(value)) add('value', `it is none of the ${before.values?.length} values there were`)
  const shape = textShape(value)
  if (before.shapes && !before.shapes.includes(shape))
    add('shape', `it looks like ${shape}, earlier like ${before.shapes.join(' or ')}`)
  const longest = before.lengths?.max ?? Infinity
  if (value.length > longest * BEYOND)
    add(
      value.length >= longest * FAR ? 'textFar' : 'textBeyond',
      `it has ${value.length} characters, at most ${longest} before`,
    )
}

function compareNumber({ min, max }: Spread, value: number, add: Add): void {
  if (value >= min && value <= max) return
  const largest = Math.max(Math.abs(min), Math.abs(max))
  const size = Math.abs(value)
  const range = min === max ? `was always ${min}` : `was between ${min} and ${max}`
  const times = size > largest ? size / largest : 1
  const isNegative = value < 0 && min >= 0
  const isSmall = size < largest && size * FAR <= Math.min(Math.abs(min), Math.abs(max))
  if (Number.isNaN(value) || times >= FAR) add('numberFar', `it is ${value}, and ${range}`)
  else if (times >= BEYOND || isNegative || isSmall)
    add('numberBeyond', `it is ${value}, and ${range}`)
  else add('numberOutside', `it is ${value}, and ${range}`)
}

function newHost(
  hosts: readonly string[] | undefined,
  value: unknown,
  add: (what: string) => void,
): void {
  const host = (typeof value === 'string' ? hostsIn(value) : []).find(
    (each) => hosts?.includes(each) !== true,
  )
  if (host !== undefined) add(`it leads to the new host ${host}`)
}

export const ARGUMENT_DRIFT = {
  /** Acts on scores above this. */
  over: required(number, 'It has no "over".'),
  /** `warn` only records the score. */
  // oxlint-disable-next-line unicorn/no-thenable -- a public name
  then: required(oneWord('warn', 'ask', 'deny'), 'It has no "then".'),
}

export type OnArgumentDrift = TypeOfFields<typeof ARGUMENT_DRIFT>

interface ArgumentDriftOptions {
  readonly baseline?: Baseline | string
  readonly onArgumentDrift?: OnArgumentDrift
}

/** Scores the arguments. The score can only make the judgement stricter. */
export function judgeArguments(
  { baseline, onArgumentDrift }: ArgumentDriftOptions,
  call: { readonly tool: string; readonly args: unknown },
  judgement: PolicyJudgement,
): { readonly judgement: PolicyJudgement; readonly drift?: ArgumentDrift } {
  if (baseline === undefined || typeof baseline === 'string') return { judgement }
  const drift = driftScore(baseline, call.tool, call.args)
  if (drift.score === 0) return { judgement }
  const { over = Infinity, then = 'warn' } = onArgumentDrift ?? {}
  const isStrict = judgement.verdict === 'deny' || judgement.verdict === then
  if (drift.score <= over || then === 'warn' || isStrict) return { judgement, drift }
  const denial = contractErrors.ARGUMENT_DRIFT(call.tool, drift, over)
  return { judgement: { verdict: then, rule: denial.rule, denial }, drift }
}
