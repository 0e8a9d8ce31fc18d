import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { declareRuleFile, type RedactRule } from '@retake/engine/runs'
import { defined } from '@retake/tape'
import { cliErrors } from './errors.js'
import type { OracleSource } from './config/oracle-source.js'
import { checkConfig, type RetakeConfig } from './config/check-config.js'
import { DEFAULTS, useProject } from './config/define-config.js'
import { findConfig } from './config/find-config.js'

/** Loads the configuration of a folder's project, if any, for the rest of this process. */
export async function loadConfig(from: string): Promise<void> {
  const file = findConfig(from)
  if (file === undefined) return
  let content: unknown
  try {
    if (file.endsWith('.json')) content = JSON.parse(readFileSync(file, 'utf8'))
    else content = await importDefault(file)
  } catch (error) {
    throw cliErrors.CONFIG_UNREADABLE(file, positionIn(file, error), error)
  }
  const config = checkConfig(file, content)
  const { runs, matchers = [], redact = [], oracle, blame = {}, ...others } = config
  const { free = [], simulator } = blame
  const recorded = config.recording?.redact
  const folder = path.dirname(file)
  useProject({
    ...DEFAULTS,
    ...defined(others),
    ...(runs !== undefined && { runs: path.resolve(folder, runs) }),
    redact: rulesOf(redact, file, 'redact'),
    recording: recorded ? { redact: rulesOf(recorded, file, 'recording.redact') } : {},
    matchers: matchers.map((matcher) =>
      /[./\\]/.test(matcher) ? path.resolve(folder, matcher) : matcher,
    ),
    folder,
    ...oracleOf(oracle, file, ['oracle']),
    blame: {
      ...blame,
      ...oracleOf(blame.oracle, file, ['blame', 'oracle']),
      free: typeof free === 'string' ? [free] : free,
      ...(simulator !== undefined && { simulator: path.resolve(folder, simulator) }),
    },
  })
}

/** Resolves files in rules, and registers where functions can be found again. */
function rulesOf(rules: readonly RedactRule[], file: string, member: string): RedactRule[] {
  return rules.map((rule, at) => {
    if (typeof rule === 'function') declareRuleFile(rule, `module:${file}#${member}.${at}`)
    if (typeof rule !== 'string') return rule
    const [, kind, named = ''] = /^(names|module):(.*)$/s.exec(rule) ?? []
    return kind === undefined ? rule : `${kind}:${path.resolve(path.dirname(file), named)}`
  })
}

/** Identifies a function by its location, because it is called in another thread. */
function oracleOf(
  oracle: RetakeConfig['oracle'],
  file: string,
  member: readonly string[],
): { readonly oracle?: OracleSource } {
  if (oracle === undefined) return {}
  return { oracle: typeof oracle === 'string' ? oracle : { file, member } }
}

/** `:3:7` if the stack of the error leads into the file, else empty. */
function positionIn(file: string, error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  for (const name of [pathToFileURL(file).href, file]) {
    const [, after = ''] = stack.split(name, 2)
    const position = /^:\d+(?::\d+)?/.exec(after)?.[0]
    if (position !== undefined) return position
  }
  return ''
}

/**
 * The default export of a user's JavaScript or TypeScript file. If it imports the library, which
 * patches globals, the patches are undone.
 */
export async function importDefault(file: string): Promise<unknown> {
  const { isInstalled, uninstall } = await import('@retake/engine')
  const wasInstalled = isInstalled()
  try {
    if (/\.[cm]?ts$/.test(file)) await import('./typescript/typescript-loader.js')
    const module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
    return module.default
  } finally {
    if (!wasInstalled) uninstall()
  }
}
