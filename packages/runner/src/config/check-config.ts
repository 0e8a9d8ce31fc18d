import {
  being,
  DataCheck,
  flag,
  listWith,
  objectOf,
  problemText,
  recordWith,
  required,
  type DataSchema,
  type TypeOfFields,
} from '@retake/engine/schema'
import type { RedactRule } from '@retake/engine/runs'
import { parseSize } from '@retake/tape/present'
import { parseAge } from '../parse-age.js'
import { cliErrors } from '../errors.js'
import type { OracleFunction } from './oracle-source.js'

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const text = (what: string): DataSchema<string> => being(what, isText)

const isNumber = (value: unknown, least: number): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= least
const number = (least: number): DataSchema<number> =>
  being(`a number from ${least} on`, (value) => isNumber(value, least))
const wholeNumber = (least: number): DataSchema<number> =>
  being(
    `a whole number from ${least} on`,
    (value) => isNumber(value, least) && Number.isInteger(value),
  )

const oracle = being<string | OracleFunction>(
  'a text such as "exit:0", or a function',
  (value) => typeof value === 'function' || (typeof value === 'string' && value.trim() !== ''),
)
const freeText = being<string>(
  'a text such as "tool=neutral"',
  (value) => typeof value === 'string' && value.includes('='),
)
const age = being<string>('an age such as "180d"', (value) => parseAge(value) !== undefined)

const redactRules = listWith(
  being<RedactRule>(
    'a regular expression, a name or a function',
    (value) => value instanceof RegExp || typeof value === 'function' || isText(value),
  ),
)

const variableName: DataSchema<string> = (check, path, value) => {
  if (!isText(value)) return check.mustBe(path, 'a text', value)
  // A key in a file would sooner or later end up in a repository.
  if (!/^[A-Za-z_]\w{0,99}$/.test(value))
    check.add(path, 'It must be the name of an environment variable, not the key itself.')
}

const dollars = being<number>('dollars for a million tokens', (value) => isNumber(value, 0))

/** Dollars for a million tokens of each class. */
const PRICE = {
  input: required(dollars, '`input` is missing: dollars for a million tokens.'),
  output: required(dollars, '`output` is missing: dollars for a million tokens.'),
  cachedInput: dollars,
  cacheWrite: dollars,
  cacheWriteLong: dollars,
  reasoning: dollars,
}

export type ModelPrice = TypeOfFields<typeof PRICE>

const BLAME = {
  /** Overrides the `oracle` of the project. */
  oracle,
  /** How to answer free steps, as for `--free`: `tool=neutral`. */
  free: ((check, path, value) =>
    (Array.isArray(value) ? listWith(freeText) : freeText)(check, path, value)) as DataSchema<
    string | readonly string[]
  >,
  /** File of a module that answers free steps, relative to this file. */
  simulator: text('the path of a file'),
  maxForks: wholeNumber(0),
  maxUsd: number(0),
  /** Maximum number of concurrent processes. */
  jobs: wholeNumber(1),
  /** Tools with effects that forks may really run: all, or these (default: none). */
  liveTools: ((check, path, value) => {
    if (typeof value !== 'boolean') listWith(text('the name of a tool'))(check, path, value)
  }) as DataSchema<boolean | readonly string[]>,
}

export type BlameConfig = TypeOfFields<typeof BLAME>

const FIX_POLICIES = ['observe', 'suggest', 'apply', 'auto'] as const
export type FixPolicy = (typeof FIX_POLICIES)[number]

const FIX = {
  /**
   * `observe`: detects and reproduces, but tries no fix. `suggest`: proves fixes and shows them.
   * `apply`: also offers to apply the best one. `auto`: applies transport and policy fixes that
   * leave the requests of at least 59 passing runs identical (default: `suggest`).
   */
  policy: being<FixPolicy>(FIX_POLICIES.join(', '), (value) =>
    (FIX_POLICIES as readonly unknown[]).includes(value),
  ),
  /** Model that writes fixes if no rule applies (default: none). */
  model: text('the name of a model'),
  /** Base URL of the model, for example `http://127.0.0.1:11434/v1`. */
  url: text('an address'),
  /** Name of the environment variable with its key. The key itself is never stored. */
  apiKeyEnv: variableName,
  maxForks: wholeNumber(1),
  maxUsd: number(0),
  /** Expected maximum use of one run; more is a symptom. */
  runBudget: objectOf({ usd: number(0), tokens: wholeNumber(1), steps: wholeNumber(1) }),
  /** Checks of results by tool: return the problem, or undefined. */
  checkResults: recordWith(
    being<(result: unknown) => string | undefined>(
      'a function',
      (value) => typeof value === 'function',
    ),
  ),
}

/** Rules of `retake rm --expired`. Ages are texts such as `180d`. */
const RETENTION = {
  /** Runs younger than this are never removed by rules. */
  floor: age,
  olderThan: age,
  keep: wholeNumber(0),
  /** Size of all tapes together, such as `20GB`. */
  maxSize: being<string>('a size such as "20GB"', (value) => parseSize(value) !== undefined),
  /** How long removed runs stay in the trash (default: `30d`). */
  trash: age,
}

/** Sends runs to a team server when they have ended, in the background. */
const PUSH = {
  /** `<organization>/<project>`. If missing, nothing is sent. */
  project: being<string>('a text such as "acme/refunds"', (value) =>
    /^[^/]+\/[^/]+$/.test(String(value)),
  ),
  /** Share of runs to send, from 0 to 1 (default: 1). */
  sample: being<number>('a number from 0 to 1', (value) => isNumber(value, 0) && value <= 1),
  /** Default: `always`. */
  when: being<'always' | 'failed'>(
    '"always" or "failed"',
    (value) => value === 'always' || value === 'failed',
  ),
}

const CONFIG = {
  /** Folder of the tapes, relative to this file (default: `.retake/runs`). */
  runs: text('the path of a folder'),
  /**
   * Prices of models, by name (`gpt-4o-mini`) or by provider and name
   * (`groq/llama-3.3-70b-versatile`). They override the list prices that Retake knows. The cost of
   * a model in neither list is unknown.
   */
  prices: recordWith(objectOf(PRICE)),
  /** Differences to ignore between requests: names of matchers, or files relative to this file. */
  matchers: listWith(text('a name or a file')),
  /**
   * Text to hide in reports, exports and copies: regular expressions (as text, or as such in a code
   * file), the names `email`, `phone`, `card`, `iban`, `ip`, `id`, `key`, or functions that return
   * the values to hide in a text.
   */
  redact: redactRules,
  recording: objectOf({
    /**
     * Personal data to replace by pseudonyms before it is written: the rules of `redact`,
     * `names:<file>`, `module:<file>` for a function in its own file, and `content` for everything
     * that is said.
     */
    redact: redactRules,
  }),
  /**
   * Packages with a native add-on that only computes: the same arguments give the same result, and
   * nothing outside is read or changed. A replay runs them for real. Accepts `@acme/codec-*`.
   */
  pureAddons: listWith(text('the name of a package')),
  /**
   * Definition of a passing run: a text as for `--oracle`, with files relative to this file, or a
   * function. The default oracle of `retake blame`.
   */
  oracle,
  /** The model behind `judge:…` oracles. */
  judge: objectOf({ url: text('a text'), model: text('a text'), apiKeyEnv: variableName }),
  blame: objectOf(BLAME),
  fix: objectOf(FIX),
  seal: objectOf({
    /** Signs every recording with the key of this machine and user, for receipts. */
    sign: flag,
  }),
  push: objectOf(PUSH),
  retention: objectOf(RETENTION),
}

/** A project's defaults, in `retake.config.{ts,mjs,js,json}`. Options override them. */
export type RetakeConfig = TypeOfFields<typeof CONFIG>

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'function' ? 'a function' : JSON.stringify(value)
}

export function checkConfig(file: string, value: unknown): RetakeConfig {
  const check = new DataCheck(shown)
  objectOf(CONFIG)(check, [], value)
  if (check.problems.length > 0)
    throw cliErrors.CONFIG_INVALID(file, check.problems.map(problemText).join(' '))
  return value as RetakeConfig
}
