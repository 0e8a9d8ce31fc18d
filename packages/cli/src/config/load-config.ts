import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { configUnreadable } from '../errors/config.js'
import type { OracleSource } from '../oracle/make-oracle.js'
import { checkConfig } from './check-config.js'
import type { BlameConfig, RetakeConfig } from './define-config.js'
import { findConfig } from './find-config.js'
import { useProject } from './project.js'
import type { ProjectBlame } from './project.js'

/** Reads the configuration of the project around a folder, if it has one, for the rest of this process. */
export async function loadConfig(from: string): Promise<void> {
  const file = findConfig(from)
  if (file === undefined) return
  const config = checkConfig(file, await read(file))
  const { runs, prices = {}, matchers = [], redact = [], pureAddons = [], judge } = config
  const folder = path.dirname(file)
  useProject({
    ...(runs !== undefined && { runs: path.resolve(folder, runs) }),
    prices,
    redact,
    pureAddons,
    matchers: matchers.map((matcher) =>
      /[./\\]/.test(matcher) ? path.resolve(folder, matcher) : matcher,
    ),
    folder,
    ...oracleOf(config.oracle, file, ['oracle']),
    ...(judge && { judge }),
    blame: blameOf(config.blame ?? {}, file),
  })
}

function blameOf(
  { oracle, free = [], simulator, ...numbers }: BlameConfig,
  file: string,
): ProjectBlame {
  return {
    ...numbers,
    ...oracleOf(oracle, file, ['blame', 'oracle']),
    free: typeof free === 'string' ? [free] : free,
    ...(simulator !== undefined && { simulator: path.resolve(path.dirname(file), simulator) }),
  }
}

/** A function is known by its place: it is called in a thread of its own. */
function oracleOf(
  oracle: RetakeConfig['oracle'],
  file: string,
  member: readonly string[],
): { readonly oracle?: OracleSource } {
  if (oracle === undefined) return {}
  return { oracle: typeof oracle === 'string' ? oracle : { file, member } }
}

async function read(file: string): Promise<unknown> {
  try {
    if (file.endsWith('.json')) return JSON.parse(readFileSync(file, 'utf8')) as unknown
    // Most projects have none, and need no engine for it.
    const { importDefault } = await import('../import-default.js')
    return await importDefault(file)
  } catch (error) {
    throw configUnreadable(file, placeIn(file, error), error)
  }
}

/** `:3:7`, where the stack of the error leads into the file; else nothing. */
function placeIn(file: string, error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  for (const name of [pathToFileURL(file).href, file]) {
    const [, after = ''] = stack.split(name, 2)
    const place = /^:\d+(?::\d+)?/.exec(after)?.[0]
    if (place !== undefined) return place
  }
  return ''
}
