import { configInvalid } from '../errors/config.js'
import { checkBlame, checkJudge, checkOracle } from './check-blame.js'
import { nameOf, record, unknownKeys } from './config-value.js'
import type { Fail } from './config-value.js'
import type { ModelPrice, RetakeConfig } from './define-config.js'

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

/** What a config file holds, if it is a configuration; else the first thing that is wrong, by its path. */
export function checkConfig(file: string, value: unknown): RetakeConfig {
  const fail = (at: string, what: string): never => {
    throw configInvalid(file, at === '' ? what : `${at} ${what}`)
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
