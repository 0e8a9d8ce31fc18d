import type { JudgeOptions } from '../oracle/judge.js'
import type { OracleFunction } from '../oracle/oracle.js'
import path from 'node:path'
import { type Pattern, readPatterns, type RedactRule } from '@retake/engine/runs'
import type { Price } from '@retake/tape'
import type { OracleSource } from '../oracle/make-oracle.js'

/** The configuration, with absolute paths. */
interface Project
  extends
    Required<Omit<RetakeConfig, 'runs' | 'oracle' | 'judge' | 'blame'>>,
    Pick<RetakeConfig, 'runs' | 'judge'> {
  /** Folder of the config file, which relative paths refer to; missing without a config file. */
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

/** The matchers given to a command, or else those of the project. */
export const givenMatchers = (given: readonly string[]): readonly string[] =>
  given.length > 0 ? given : current.matchers

/** The same with relative paths, so that another checkout of the tape finds them. */
export const recordedMatchers = (given: readonly string[]): readonly string[] =>
  given.length > 0 ? given : current.matchers.map(asSeenFromHere)

const asSeenFromHere = (matcher: string): string =>
  path.isAbsolute(matcher) ? `./${path.relative(process.cwd(), matcher)}` : matcher

/** Dollars for a million tokens of each class. */
export type ModelPrice = Omit<Price, 'longInput' | 'regionalFactor'>

/** A project's defaults, in `retake.config.{ts,mjs,js,json}`. Options override them. */
export interface RetakeConfig {
  /** Folder of the tapes, relative to this file (default: `.retake/runs`). */
  readonly runs?: string
  /**
   * Prices of models, by name (`gpt-4o-mini`) or by provider and name
   * (`groq/llama-3.3-70b-versatile`). They override the list prices that Retake knows. The cost of
   * a model in neither list is unknown.
   */
  readonly prices?: Readonly<Record<string, ModelPrice>>
  /** Differences to ignore between requests: names of matchers, or files relative to this file. */
  readonly matchers?: readonly string[]
  /**
   * Text to hide in reports, exports and copies: regular expressions (as text, or as such in a code
   * file), the names `email`, `phone`, `card`, `iban`, `ip`, `id`, `key`, or functions that return
   * the values to hide in a text.
   */
  readonly redact?: readonly RedactRule[]
  readonly recording?: RecordingConfig
  /**
   * Packages with a native add-on that only computes: the same arguments give the same result, and
   * nothing outside is read or changed. A replay runs them for real. Accepts `@acme/codec-*`.
   */
  readonly pureAddons?: readonly string[]
  /**
   * Definition of a passing run: a text as for `--oracle`, with files relative to this file, or a
   * function. The default oracle of `retake blame`.
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
  /** `<organization>/<project>`. If missing, nothing is sent. */
  readonly project?: string
  /** Share of runs to send, from 0 to 1 (default: 1). */
  readonly sample?: number
  /** Default: `always`. */
  readonly when?: 'always' | 'failed'
}

export interface RecordingConfig {
  /**
   * Personal data to replace by pseudonyms before it is written: the rules of `redact`,
   * `names:<file>`, `module:<file>` for a function in its own file, and `content` for everything
   * that is said.
   */
  readonly redact?: readonly RedactRule[]
}

export interface SealConfig {
  /** Signs every recording with the key of this machine and user, for receipts. */
  readonly sign?: boolean
}

/** Rules of `retake rm --expired`. Ages are texts such as `180d`. */
export interface RetentionConfig {
  /** Runs younger than this are never removed by rules. */
  readonly floor?: string
  readonly olderThan?: string
  readonly keep?: number
  /** Size of all tapes together, such as `20GB`. */
  readonly maxSize?: string
  /** How long removed runs stay in the trash (default: `30d`). */
  readonly trash?: string
}

export interface FixConfig {
  /**
   * `observe`: detects and reproduces, but tries no fix. `suggest`: proves fixes and shows them.
   * `apply`: also offers to apply the best one. `auto`: applies transport and policy fixes that
   * leave the requests of at least 59 passing runs identical (default: `suggest`).
   */
  readonly policy?: FixPolicy
  /** Model that writes fixes if no rule applies (default: none). */
  readonly model?: string
  /** Base URL of the model, for example `http://127.0.0.1:11434/v1`. */
  readonly url?: string
  /** Name of the environment variable with its key. The key itself is never stored. */
  readonly apiKeyEnv?: string
  readonly maxForks?: number
  readonly maxUsd?: number
  /** Expected maximum use of one run; more is a symptom. */
  readonly runBudget?: { readonly usd?: number; readonly tokens?: number; readonly steps?: number }
  /** Checks of results by tool: return the problem, or undefined. */
  readonly checkResults?: Readonly<Record<string, (result: unknown) => string | undefined>>
}

export const FIX_POLICIES = ['observe', 'suggest', 'apply', 'auto'] as const
export type FixPolicy = (typeof FIX_POLICIES)[number]

export interface BlameConfig {
  /** Overrides the `oracle` of the project. */
  readonly oracle?: string | OracleFunction
  /** How to answer free steps, as for `--free`: `tool=neutral`. */
  readonly free?: string | readonly string[]
  /** File of a module that answers free steps, relative to this file. */
  readonly simulator?: string
  readonly maxForks?: number
  readonly maxUsd?: number
  /** Maximum number of concurrent processes. */
  readonly jobs?: number
  /** Tools with effects that forks may really run: all, or these (default: none). */
  readonly liveTools?: boolean | readonly string[]
}

/** Adds types to a configuration and returns it unchanged. */
export const defineConfig = (config: RetakeConfig): RetakeConfig => config
