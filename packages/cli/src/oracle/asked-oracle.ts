import { project } from '../config/project.js'
import { wrongUsage } from '../errors/command-line.js'
import { text } from '../verb.js'
import type { OptionValues } from '../verb.js'
import { makeOracle } from './make-oracle.js'
import type { OracleOptions, OracleSource } from './make-oracle.js'
import type { Oracle } from './oracle.js'

/** Options of every command that asks an oracle, beside `--oracle`. */
export const ORACLE_OPTIONS = {
  oracle: { type: 'string' },
  'oracle-timeout': { type: 'string' },
  'judge-url': { type: 'string' },
  'judge-model': { type: 'string' },
} as const

const TIMEOUT_MAX_S = 86_400

/**
 * The oracle that `--oracle` names, with the options beside it; `config` names that of
 * the project. Without one, `otherwise`. `undefined` when there is neither.
 */
export async function askedOracle(
  values: OptionValues,
  options: Pick<OracleOptions, 'verb' | 'recorded'>,
  otherwise?: OracleSource,
): Promise<Oracle | undefined> {
  const given = text(values, 'oracle')
  const { folder } = project()
  const isProjects = given === undefined || given === 'config'
  const source = given === 'config' ? projectOracle(options.verb) : (given ?? otherwise)
  if (source === undefined) return undefined
  return makeOracle(source, {
    ...options,
    ...timeoutOf(values, options.verb),
    judge: judgeOf(values),
    ...(isProjects && folder !== undefined && { folder }),
  })
}

function projectOracle(verb: string): OracleSource {
  const { oracle } = project()
  if (oracle !== undefined) return oracle
  throw wrongUsage(verb, 'The project has no oracle.', 'Set `oracle` in retake.config.ts.')
}

function judgeOf(values: OptionValues): NonNullable<OracleOptions['judge']> {
  const url = text(values, 'judge-url')
  const model = text(values, 'judge-model')
  // A key goes only where the configuration that names it says.
  const configured = project().judge ?? {}
  const { apiKeyEnv: _, ...keyless } = configured
  return {
    ...(url === undefined || url === configured.url ? configured : keyless),
    ...(url !== undefined && { url }),
    ...(model !== undefined && { model }),
  }
}

function timeoutOf(values: OptionValues, verb: string): Pick<OracleOptions, 'timeoutMs'> {
  const given = text(values, 'oracle-timeout')
  if (given === undefined) return {}
  const seconds = Number(given)
  if (Number.isFinite(seconds) && seconds > 0 && seconds <= TIMEOUT_MAX_S)
    return { timeoutMs: seconds * 1000 }
  throw wrongUsage(verb, '--oracle-timeout is not a number of seconds.', 'For example: 60.')
}
