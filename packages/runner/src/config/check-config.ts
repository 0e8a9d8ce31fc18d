import { cliErrors } from '../errors.js'
import {
  type BlameConfig,
  FIX_POLICIES,
  type FixConfig,
  type ModelPrice,
  type PushConfig,
  type RecordingConfig,
  type RetakeConfig,
  type RetentionConfig,
  type SealConfig,
} from './define-config.js'
import { parseAge } from '../command-line/quantities.js'
import { closestName } from '@retake/engine/errors'
import { parseSize } from '@retake/tape/present'

type Check = (value: unknown, at: string, fail: Fail) => void
/** Reports a problem with its path. */
type Fail = (at: string, what: string) => never

const nameOf = (value: unknown): string => {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'function' ? 'a function' : JSON.stringify(value)
}

/** Accepts values for which `isRight` is true. `what` describes them in errors. */
const being =
  (what: string, isRight: (value: unknown) => boolean): Check =>
  (value, at, fail) => {
    if (!isRight(value)) fail(at, `must be ${what}, not ${nameOf(value)}.`)
  }

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const text = (what: string): Check => being(what, isText)

const isNumber = (value: unknown, least: number): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= least
const number = (least: number): Check =>
  being(`a number from ${least} on`, (value) => isNumber(value, least))
const wholeNumber = (least: number): Check =>
  being(
    `a whole number from ${least} on`,
    (value) => isNumber(value, least) && Number.isInteger(value),
  )

const list =
  (item: Check): Check =>
  (value, at, fail) => {
    if (!Array.isArray(value)) return fail(at, `must be a list, not ${nameOf(value)}.`)
    for (const [index, each] of (value as unknown[]).entries()) item(each, `${at}[${index}]`, fail)
  }

type Members<T> = { readonly [K in keyof Required<T>]: Check }

/** An object with these members, all optional. Rejects others, which are probably misspelt. */
const object =
  <T>(members: Members<T>): Check =>
  (value, at, fail) => {
    const given = record(value, at, fail)
    const known = Object.keys(members)
    const path = (key: string): string => (at === '' ? key : `${at}.${key}`)
    const unknown = Object.keys(given).find((key) => !known.includes(key))
    if (unknown !== undefined) {
      const close = closestName(unknown, known)
      const hint = close === undefined ? `there are ${known.join(', ')}.` : `did you mean ${close}?`
      fail(path(unknown), `is not known; ${hint}`)
    }
    for (const [key, check] of Object.entries<Check>(members))
      if (given[key] !== undefined) check(given[key], path(key), fail)
  }

const record = (value: unknown, at: string, fail: Fail): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : fail(at, `${at === '' ? 'It must' : 'must'} be an object, not ${nameOf(value)}.`)

const oracle = being(
  'a text such as "exit:0", or a function',
  (value) => typeof value === 'function' || (typeof value === 'string' && value.trim() !== ''),
)

const freeText = being(
  'a text such as "tool=neutral"',
  (value) => typeof value === 'string' && value.includes('='),
)

const dollars = being('dollars for a million tokens', (value) => isNumber(value, 0))
const priceMembers = object<ModelPrice>({
  input: dollars,
  output: dollars,
  cachedInput: dollars,
  cacheWrite: dollars,
  cacheWriteLong: dollars,
  reasoning: dollars,
})

const price: Check = (value, at, fail) => {
  priceMembers(value, at, fail)
  for (const key of ['input', 'output'])
    if (record(value, at, fail)[key] === undefined)
      fail(`${at}.${key}`, 'is missing: dollars for a million tokens.')
}

const age = being('an age such as "180d"', (value) => parseAge(value) !== undefined)

const variableName: Check = (value, at, fail) => {
  text('a text')(value, at, fail)
  // A key in a file would sooner or later end up in a repository.
  if (!/^[A-Za-z_]\w{0,99}$/.test(String(value)))
    fail(at, 'must be the name of an environment variable, not the key itself.')
}

const rule = being(
  'a regular expression, a name or a function',
  (value) => value instanceof RegExp || typeof value === 'function' || isText(value),
)

const CONFIG = object<RetakeConfig>({
  runs: text('the path of a folder'),
  prices: (value, at, fail) => {
    for (const [model, each] of Object.entries(record(value, at, fail)))
      price(each, `${at}["${model}"]`, fail)
  },
  matchers: list(text('a name or a file')),
  redact: list(rule),
  recording: object<RecordingConfig>({ redact: list(rule) }),
  pureAddons: list(text('the name of a package')),
  oracle,
  judge: object<NonNullable<RetakeConfig['judge']>>({
    url: text('a text'),
    model: text('a text'),
    apiKeyEnv: variableName,
  }),
  blame: object<BlameConfig>({
    oracle,
    free: (value, at, fail) => (Array.isArray(value) ? list(freeText) : freeText)(value, at, fail),
    simulator: text('the path of a file'),
    maxForks: wholeNumber(0),
    maxUsd: number(0),
    jobs: wholeNumber(1),
    liveTools: (value, at, fail) => {
      if (typeof value !== 'boolean') list(text('the name of a tool'))(value, at, fail)
    },
  }),
  fix: object<FixConfig>({
    policy: being(FIX_POLICIES.join(', '), (value) =>
      (FIX_POLICIES as readonly unknown[]).includes(value),
    ),
    model: text('the name of a model'),
    url: text('an address'),
    apiKeyEnv: variableName,
    maxForks: wholeNumber(1),
    maxUsd: number(0),
    runBudget: object<NonNullable<FixConfig['runBudget']>>({
      usd: number(0),
      tokens: wholeNumber(1),
      steps: wholeNumber(1),
    }),
    checkResults: (value, at, fail) => {
      for (const [tool, check] of Object.entries(record(value, at, fail)))
        if (typeof check !== 'function') fail(`${at}["${tool}"]`, 'must be a function.')
    },
  }),
  seal: object<SealConfig>({
    sign: being('true or false', (value) => typeof value === 'boolean'),
  }),
  push: object<PushConfig>({
    project: being('a text such as "acme/refunds"', (value) =>
      /^[^/]+\/[^/]+$/.test(String(value)),
    ),
    sample: being('a number from 0 to 1', (value) => isNumber(value, 0) && value <= 1),
    when: being('"always" or "failed"', (value) => value === 'always' || value === 'failed'),
  }),
  retention: object<RetentionConfig>({
    floor: age,
    olderThan: age,
    keep: wholeNumber(0),
    maxSize: being('a size such as "20GB"', (value) => parseSize(value) !== undefined),
    trash: age,
  }),
})

export function checkConfig(file: string, value: unknown): RetakeConfig {
  CONFIG(value, '', (at, what) => {
    throw cliErrors.CONFIG_INVALID(file, at === '' ? what : `${at} ${what}`)
  })
  return value as RetakeConfig
}
