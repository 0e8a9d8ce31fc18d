import { nameOf, record, unknownKeys } from './config-value.js'
import type { Fail } from './config-value.js'
import type { BlameConfig, RetakeConfig } from './define-config.js'

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

export function checkOracle(at: string, value: unknown, fail: Fail): void {
  if (value === undefined || typeof value === 'function') return
  if (typeof value !== 'string' || value.trim() === '')
    fail(at, `has to be a text such as "exit:0", or a function, not ${nameOf(value)}.`)
}

export function checkJudge(value: unknown, fail: Fail): void {
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

export function checkBlame(value: unknown, fail: Fail): void {
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
