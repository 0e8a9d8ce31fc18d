import path from 'node:path'
import type { PriceTable } from '@retake/tape'
import type { JudgeOptions } from '../oracle/judge/judge-check.js'
import type { OracleSource } from '../oracle/make-oracle.js'

/** What a config file says, with its paths made absolute. */
export interface Project {
  readonly runs?: string
  readonly prices: PriceTable
  readonly matchers: readonly string[]
  readonly redact: readonly (string | RegExp)[]
  readonly pureAddons: readonly string[]
  /** The folder of the config file, from which the files in it are meant; the working directory without one. */
  readonly folder?: string
  readonly oracle?: OracleSource
  readonly judge?: JudgeOptions
  readonly blame: ProjectBlame
}

/** Defaults of `retake blame`. */
export interface ProjectBlame {
  readonly oracle?: OracleSource
  readonly free: readonly string[]
  /** Absolute. */
  readonly simulator?: string
  readonly maxForks?: number
  readonly maxUsd?: number
  readonly jobs?: number
}

let current: Project = { prices: {}, matchers: [], redact: [], pureAddons: [], blame: { free: [] } }

/** The configuration of the project that this command runs in. */
export const project = (): Project => current

export function useProject(read: Project): void {
  current = read
}

/** Matchers that a command was given; without any, those of the project. */
export const askedMatchers = (given: readonly string[]): readonly string[] =>
  given.length > 0 ? given : current.matchers

/** The same as a tape names them: files from the working directory, so that they are found in another checkout. */
export const recordedMatchers = (given: readonly string[]): readonly string[] =>
  given.length > 0 ? given : current.matchers.map(asSeenFromHere)

const asSeenFromHere = (matcher: string): string =>
  path.isAbsolute(matcher) ? `./${path.relative(process.cwd(), matcher)}` : matcher
