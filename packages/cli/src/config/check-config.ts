import { cliErrors } from '../errors.js'
import type { BlameConfig, ModelPrice, RetakeConfig } from './define-config.js'
import { closestName } from '@retake/engine/errors'

/** Says what is wrong, with its path. */
type Fail = (at: string, what: string) => never

/** Refuses members that mean nothing: they are misspelt. */
function unknownKeys(
  value: Readonly<Record<string, unknown>>,
  known: readonly string[],
  at: string,
  fail: Fail,
): void {
  const key = Object.keys(value).find((each) => !known.includes(each))
  if (key === undefined) return
  const close = closestName(key, known)
  const path = at === '' ? key : `${at}.${key}`
  fail(
    path,
    close === undefined
      ? `is not known; there are ${known.join(', ')}.`
      : `is not known; did you mean ${close}?`,
  )
}

/** The value as an object, if it is one. */
const record = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined

/** Describes a wrong value for an error message. */
const nameOf = (value: unknown): string => {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'function' ? 'a function' : JSON.stringify(value)
}

const JUDGE_KEYS: readonly string[] = ['url', 'model', 'apiKeyEnv'] satisfies (keyof NonNullable<
  RetakeConfig['judge']
>)[]
const BLAME_KEYS: readonly string[] = [
  'oracle',
  'free',
  'simulator',
  'maxForks',
  'maxUsd',
  'jobs',
] satisfies (keyof BlameConfig)[]

function checkOracle(at: string, value: unknown, fail: Fail): void {
  if (value === undefined || typeof value === 'function') return
  if (typeof value !== 'string' || value.trim() === '')
    fail(at, `has to be a text such as "exit:0", or a function, not ${nameOf(value)}.`)
}

function checkJudge(value: unknown, fail: Fail): void {
  if (value === undefined) return
  const judge = record(value) ?? fail('judge', `has to be an object, not ${nameOf(value)}.`)
  unknownKeys(judge, JUDGE_KEYS, 'judge', fail)
  for (const [key, text] of Object.entries(judge)) {
    if (typeof text !== 'string' || text === '')
      fail(`judge.${key}`, `has to be a text, not ${nameOf(text)}.`)
  }
  // A key in a file would sooner or later be in a repository.
  const { apiKeyEnv } = judge
  if (typeof apiKeyEnv === 'string' && !/^[A-Za-z_]\w{0,99}$/.test(apiKeyEnv))
    fail('judge.apiKeyEnv', 'has to be the name of an environment variable, not the key itself.')
}

function checkBlame(value: unknown, fail: Fail): void {
  if (value === undefined) return
  const blame = record(value) ?? fail('blame', `has to be an object, not ${nameOf(value)}.`)
  unknownKeys(blame, BLAME_KEYS, 'blame', fail)
  const { oracle, free, simulator, maxForks, maxUsd, jobs } = blame
  checkOracle('blame.oracle', oracle, fail)
  checkFree(free, fail)
  if (simulator !== undefined && (typeof simulator !== 'string' || simulator === ''))
    fail('blame.simulator', `has to be the path of a file, not ${nameOf(simulator)}.`)
  checkNumber('blame.maxForks', maxForks, { least: 0, whole: true }, fail)
  checkNumber('blame.maxUsd', maxUsd, { least: 0 }, fail)
  checkNumber('blame.jobs', jobs, { least: 1, whole: true }, fail)
}

function checkFree(value: unknown, fail: Fail): void {
  if (value === undefined) return
  for (const [index, each] of (Array.isArray(value) ? (value as unknown[]) : [value]).entries()) {
    if (typeof each !== 'string' || !each.includes('='))
      fail(
        Array.isArray(value) ? `blame.free[${index}]` : 'blame.free',
        `has to be a text such as "tool=neutral", not ${nameOf(each)}.`,
      )
  }
}

function checkNumber(
  at: string,
  value: unknown,
  { least, whole = false }: { readonly least: number; readonly whole?: boolean },
  fail: Fail,
): void {
  if (value === undefined) return
  const isNumber = typeof value === 'number' && Number.isFinite(value) && value >= least
  if (!isNumber || (whole && !Number.isInteger(value)))
    fail(at, `has to be a ${whole ? 'whole ' : ''}number from ${least} on, not ${nameOf(value)}.`)
}

const KEYS: readonly string[] = [
  'runs',
  'prices',
  'matchers',
  'redact',
  'pureAddons',
  'oracle',
  'judge',
  'blame',
] satisfies (keyof RetakeConfig)[]
const PRICE_KEYS: readonly string[] = [
  'input',
  'output',
  'cachedInput',
  'cacheWrite',
  'cacheWriteLong',
  'reasoning',
] satisfies (keyof ModelPrice)[]
const PRICES_NEEDED = ['input', 'output']

/** The configuration, or the path and reason of the first error. */
export function checkConfig(file: string, value: unknown): RetakeConfig {
  const fail = (at: string, what: string): never => {
    throw cliErrors.CONFIG_INVALID(file, at === '' ? what : `${at} ${what}`)
  }
  const config = record(value) ?? fail('', `It has to be an object, not ${nameOf(value)}.`)
  unknownKeys(config, KEYS, '', fail)
  const { runs, prices, matchers, redact, pureAddons, oracle, judge, blame } = config
  if (runs !== undefined && (typeof runs !== 'string' || runs === ''))
    fail('runs', `has to be the path of a folder, not ${nameOf(runs)}.`)
  if (prices !== undefined) {
    const table = record(prices) ?? fail('prices', `has to be an object, not ${nameOf(prices)}.`)
    for (const [model, price] of Object.entries(table))
      checkPrice(`prices["${model}"]`, price, fail)
  }
  checkTexts('matchers', matchers, 'a name or a file', fail)
  checkTexts('pureAddons', pureAddons, 'the name of a package', fail)
  checkRedact(redact, fail)
  checkOracle('oracle', oracle, fail)
  checkJudge(judge, fail)
  checkBlame(blame, fail)
  return config
}

function checkTexts(key: string, value: unknown, what: string, fail: Fail): void {
  if (value !== undefined && !Array.isArray(value))
    fail(key, `has to be a list, not ${nameOf(value)}.`)
  for (const [index, text] of ((value ?? []) as unknown[]).entries()) {
    if (typeof text !== 'string' || text === '')
      fail(`${key}[${index}]`, `has to be ${what}, not ${nameOf(text)}.`)
  }
}

function checkRedact(value: unknown, fail: Fail): void {
  if (value !== undefined && !Array.isArray(value))
    fail('redact', `has to be a list, not ${nameOf(value)}.`)
  for (const [index, pattern] of ((value ?? []) as unknown[]).entries()) {
    if (!(pattern instanceof RegExp) && (typeof pattern !== 'string' || pattern === ''))
      fail(`redact[${index}]`, `has to be a regular expression or a name, not ${nameOf(pattern)}.`)
  }
}

function checkPrice(at: string, value: unknown, fail: Fail): void {
  const price = record(value) ?? fail(at, `has to be an object, not ${nameOf(value)}.`)
  unknownKeys(price, PRICE_KEYS, at, fail)
  for (const key of PRICES_NEEDED) {
    if (price[key] === undefined) fail(`${at}.${key}`, 'is missing: dollars for a million tokens.')
  }
  for (const [key, dollars] of Object.entries(price)) {
    const isPrice = typeof dollars === 'number' && Number.isFinite(dollars) && dollars >= 0
    if (!isPrice)
      fail(`${at}.${key}`, `has to be dollars for a million tokens, not ${nameOf(dollars)}.`)
  }
}
