import path from 'node:path'
import { type Pattern, readPatterns } from '@retake/engine/runs'
import type { OracleSource } from './oracle-source.js'
import type { BlameConfig, RetakeConfig } from './check-config.js'

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
interface ProjectBlame extends Omit<BlameConfig, 'oracle' | 'free'> {
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

/** Adds types to a configuration and returns it unchanged. */
export const defineConfig = (config: RetakeConfig): RetakeConfig => config
