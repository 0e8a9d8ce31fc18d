import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { configUnreadable } from '../errors.js'
import { checkConfig } from './check-config.js'
import { findConfig } from './find-config.js'
import { useProject } from './project.js'

/** Reads the configuration of the project around `folder`, if it has one, for the rest of this process. */
export async function loadConfig(folder: string): Promise<void> {
  const file = findConfig(folder)
  if (file === undefined) return
  const { runs, prices = {}, matchers = [], redact = [] } = checkConfig(file, await read(file))
  const home = path.dirname(file)
  useProject({
    ...(runs !== undefined && { runs: path.resolve(home, runs) }),
    prices,
    redact,
    matchers: matchers.map((matcher) =>
      /[./\\]/.test(matcher) ? path.resolve(home, matcher) : matcher,
    ),
  })
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
