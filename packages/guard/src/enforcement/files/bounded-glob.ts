import path from 'node:path'
import type { Dirent } from 'node:fs'
import type { AskedBounds } from './asked-bounds.js'
import type { BoundedPlan } from './bounded-plan.js'
import { pathArgument } from './path-argument.js'

/** The first character that makes a pattern of a path. */
const MAGIC = /[*?[{!+@(]/

/** `..` as a name of its own, also as one of several in braces. */
const CLIMBS = /(?:^|[/\\{,(|])\.\.(?:[/\\},)|]|$)/

/**
 * Asks about the folder that a search starts in, and about every match before it is handed
 * out: a pattern may lead through links.
 */
export function askGlob(asked: AskedBounds, args: readonly unknown[]): BoundedPlan {
  const [given, options] = args as [unknown, { readonly cwd?: unknown } | undefined]
  const cwd = path.resolve(pathArgument(asked, options?.cwd ?? '.') ?? '.')
  const patterns = (Array.isArray(given) ? given : [given]).map(String)
  for (const pattern of patterns) {
    const [fixed = ''] = pattern.split(MAGIC, 1)
    const folder = fixed === pattern ? fixed : fixed.slice(0, fixed.lastIndexOf('/') + 1)
    asked.ask('read', path.isAbsolute(folder) ? folder : `${cwd}/${folder}`)
    // Where it climbs from is only known when it is there.
    if (CLIMBS.test(pattern.slice(folder.length))) asked.ask('unseen', pattern)
  }
  const match = (found: string | Dirent): unknown => {
    const place = typeof found === 'string' ? found : path.join(found.parentPath, found.name)
    asked.ask('read', path.resolve(cwd, place))
    return found
  }
  return {
    args: [Array.isArray(given) ? patterns : patterns[0], { ...options, cwd }],
    finish: (value) =>
      Array.isArray(value)
        ? value.map(match)
        : matchLater(value as AsyncIterable<string | Dirent>, match),
  }
}

async function* matchLater(
  found: AsyncIterable<string | Dirent>,
  match: (found: string | Dirent) => unknown,
): AsyncGenerator {
  for await (const each of found) yield match(each)
}
