import type { JudgeOptions } from '../oracle/judge.js'
import type { OracleFunction } from '../oracle/oracle.js'
import path from 'node:path'
import { type Pattern, readPatterns, type RedactRule } from '@retake/engine/runs'
import type { OracleSource } from '../oracle/make-oracle.js'

/** The configuration, with absolute paths. */
interface Project
  extends
    Required<Omit<RetakeConfig, 'runs' | 'oracle' | 'judge' | 'blame'>>,
    Pick<RetakeConfig, 'runs' | 'judge'> {
  /** The folder of the config file, from which the files in it are meant; the working directory without one. */
  readonly folder?: string
  readonly oracle?: OracleSource
  readonly blame: ProjectBlame
}

/** Defaults of `retake blame`; the path of the simulator is absolute. */
export interface ProjectBlame extends Omit<BlameConfig, 'oracle' | 'free'> {
  readonly oracle?: OracleSource
  readonly free: readonly string[]
}

export const DEFAULTS: Project = {
  prices: {},
  matchers: [],
  redact: [],
  recording: {},
  pureAddons: [],
  blame: { free: [] },
  fix: {},
  seal: {},
  retention: {},
  push: {},
}

let current = DEFAULTS

export const project = (): Project => current

export function useProject(read: Project): void {
  current = read
}

export const givenPatterns = (given: readonly string[]): Pattern[] =>
  readPatterns([...current.redact, ...given])

/** Matchers that a command was given; without any, those of the project. */
export const givenMatchers = (given: readonly string[]): readonly string[] =>
  given.length > 0 ? given : current.matchers

/** The same as a tape names them: files from the working directory, so that they are found in another checkout. */
export const recordedMatchers = (given: readonly string[]): readonly string[] =>
  given.length > 0 ? given : current.matchers.map(asSeenFromHere)

const asSeenFromHere = (matcher: string): string =>
  path.isAbsolute(matcher) ? `./${path.relative(process.cwd(), matcher)}` : matcher

/** Dollars for a million tokens of each class. */
export interface ModelPrice {
  readonly input: number
  readonly output: number
  /** Input that the provider had in its cache. Left out: its cost is unknown. */
  readonly cachedInput?: number
  /** Input written to the provider's cache. Left out: its cost is unknown. */
  readonly cacheWrite?: number
  /** Input written to a cache that lasts an hour. If missing, its cost is unknown. */
  readonly cacheWriteLong?: number
  /** Price of reasoning tokens. Defaults to the price of output. */
  readonly reasoning?: number
}

/** Defaults of a project, in `retake.config.ts`, `.mjs`, `.js` or `.json`. Options of a command come first. */
export interface RetakeConfig {
  /** Where tapes are, from the folder of this file; `.retake/runs` under the working directory unless set. */
  readonly runs?: string
  /**
   * Prices of models, by name (`gpt-4o-mini`), or by provider and name
   * (`groq/llama-3.3-70b-versatile`). They come before the list prices that
   * Retake knows; a model that is in neither has an unknown cost.
   */
  readonly prices?: Readonly<Record<string, ModelPrice>>
  /** Differences to ignore between requests of commands and of the proxy: names of matchers, or files relative to this file. */
  readonly matchers?: readonly string[]
  /**
   * Text to hide in reports, exports and copies: regular expressions, as text or in a config file of
   * code as they are, the names `email`, `phone`, `card`, `iban`, `ip`, `id`, `key`, or functions that
   * return the values to hide in a text.
   */
  readonly redact?: readonly RedactRule[]
  readonly recording?: RecordingConfig
  /**
   * Packages with a native add-on that only computes: the same arguments give the same result,
   * and nothing outside is read or changed. A replay runs them for real; `@acme/codec-*` means
   * every name with that prefix.
   */
  readonly pureAddons?: readonly string[]
  /**
   * Definition of a passing run: text as for `--oracle`, files relative to
   * this file, or a function. The default oracle of `retake blame`.
   */
  readonly oracle?: string | OracleFunction
  /** The model behind `judge:…` oracles. */
  readonly judge?: JudgeOptions
  readonly blame?: BlameConfig
  readonly fix?: FixConfig
  readonly seal?: SealConfig
  readonly retention?: RetentionConfig
  readonly push?: PushConfig
}

/** Sends runs to a team server when they have ended, in the background. */
export interface PushConfig {
  /** `<organization>/<project>`; nothing is sent without it. */
  readonly project?: string
  /** Share of runs, from 0 to 1; all unless set. */
  readonly sample?: number
  /** `always` unless set. */
  readonly when?: 'always' | 'failed'
}

export interface RecordingConfig {
  /**
   * Personal data that is replaced by pseudonyms before it is written: the rules of `redact`, and
   * `names:<file>`, `module:<file>` for a function in a file of its own, and `content` for everything that is said.
   */
  readonly redact?: readonly RedactRule[]
}

export interface SealConfig {
  /** Signs every recording with the key of this machine and user, for receipts. */
  readonly sign?: boolean
}

/** Defaults of `retake gc`. Ages are texts such as `180d`. */
export interface RetentionConfig {
  /** Runs younger than this are never removed by `gc` and `prune`. */
  readonly floor?: string
  readonly olderThan?: string
  readonly keep?: number
  /** Size of all tapes together, such as `20GB`. */
  readonly maxSize?: string
  /** Removed runs stay in the trash this long; `30d` unless set. */
  readonly trash?: string
}

export interface FixConfig {
  /**
   * `observe`: detects and reproduces, tries no fix. `suggest`: proves fixes and shows them. `apply`:
   * also offers to apply the best one. `auto`: applies transport and policy fixes that leave
   * the requests of at least 59 passing runs identical. `suggest` unless set.
   */
  readonly policy?: FixPolicy
  /** The model that writes fixes if no rule does; none by default. */
  readonly model?: string
  /** Start of its address, for example `http://127.0.0.1:11434/v1`. */
  readonly url?: string
  /** Name of the environment variable with its key. The key itself is never stored. */
  readonly apiKeyEnv?: string
  readonly maxForks?: number
  readonly maxUsd?: number
  /** How much one run of the agent should use; more is a symptom. */
  readonly runBudget?: { readonly usd?: number; readonly tokens?: number; readonly steps?: number }
  /** By tool: says what is wrong with a result, or nothing. */
  readonly checkResults?: Readonly<Record<string, (result: unknown) => string | undefined>>
}

export const FIX_POLICIES = ['observe', 'suggest', 'apply', 'auto'] as const
export type FixPolicy = (typeof FIX_POLICIES)[number]

export interface BlameConfig {
  /** Comes before the `oracle` of the project. */
  readonly oracle?: string | OracleFunction
  /** How free steps are answered, as `--free` takes it: `tool=neutral`. */
  readonly free?: string | readonly string[]
  /** File of a module that answers free steps, from the folder of this file. */
  readonly simulator?: string
  readonly maxForks?: number
  readonly maxUsd?: number
  /** Processes at a time. */
  readonly jobs?: number
  /** Tools with effects that forks may really run: all, or these. None unless set. */
  readonly liveTools?: boolean | readonly string[]
}

/** Adds types to a configuration, which is returned unchanged. */
export const defineConfig = (config: RetakeConfig): RetakeConfig => config
