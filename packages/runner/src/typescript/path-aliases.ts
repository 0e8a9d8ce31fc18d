import fs from 'node:fs'
import path from 'node:path'

// Taken before the engine replaces it, as in typescript-hooks.ts.
const { readFileSync } = fs

interface Paths {
  /** Folder that targets are relative to. */
  readonly base: string
  readonly patterns: Readonly<Record<string, readonly string[]>>
}

/**
 * Files that an alias in `paths` of tsconfig.json resolves to, in order. `onRead`: called with each
 * configuration that is looked for the first time.
 */
export function aliasTargets(
  specifier: string,
  importer: string,
  onRead: (file: string) => void = () => {},
): string[] {
  const paths = pathsFor(path.dirname(importer), onRead)
  if (paths === undefined) return []
  const [best] = Object.keys(paths.patterns)
    .map((pattern) => ({ pattern, star: starMatch(pattern, specifier) }))
    .filter(({ star }) => star !== undefined)
    .toSorted((a, b) => prefixLength(b.pattern) - prefixLength(a.pattern))
  if (best === undefined) return []
  const targets = paths.patterns[best.pattern] ?? []
  return targets.map((target) =>
    path.resolve(
      paths.base,
      target.replace('*', () => best.star ?? ''),
    ),
  )
}

/** Text matched by the star of a pattern; empty if there is none and the names are equal. */
export function starMatch(pattern: string, specifier: string): string | undefined {
  const [before = '', after] = pattern.split('*')
  if (after === undefined) return pattern === specifier ? '' : undefined
  const fits =
    specifier.startsWith(before) &&
    specifier.endsWith(after) &&
    specifier.length >= before.length + after.length
  return fits ? specifier.slice(before.length, specifier.length - after.length) : undefined
}

/** A pattern without a star wins, then the longest prefix. */
const prefixLength = (pattern: string): number =>
  pattern.includes('*') ? pattern.indexOf('*') : Infinity

const known = new Map<string, Paths | undefined>()

/** For a process that outlives a change of a configuration. */
export const forgetAliases = (): void => known.clear()

function pathsFor(folder: string, onRead: (file: string) => void): Paths | undefined {
  if (known.has(folder)) return known.get(folder)
  const parent = path.dirname(folder)
  const config = readConfig(path.join(folder, 'tsconfig.json'), onRead)
  const paths = config ? config.paths : parent === folder ? undefined : pathsFor(parent, onRead)
  known.set(folder, paths)
  return paths
}

/** Undefined if the file does not exist. Syntax errors are ignored; the compiler reports them. */
function readConfig(
  file: string,
  onRead: (file: string) => void,
): { paths: Paths | undefined } | undefined {
  onRead(file)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
  const { compilerOptions = {}, extends: parents = [] } = parseLoosely(text) as {
    compilerOptions?: { baseUrl?: string; paths?: Paths['patterns'] }
    extends?: string | string[]
  }
  const folder = path.dirname(file)
  if (compilerOptions.paths !== undefined) {
    const base = path.resolve(folder, compilerOptions.baseUrl ?? '.')
    return { paths: { base, patterns: compilerOptions.paths } }
  }
  const inherited = [parents]
    .flat()
    .filter((parent) => parent.startsWith('.') || path.isAbsolute(parent))
    .map((parent) => path.resolve(folder, parent.endsWith('.json') ? parent : `${parent}.json`))
    .map((parent) => readConfig(parent, onRead)?.paths)
    .findLast((paths) => paths !== undefined)
  return { paths: inherited }
}

/** JSON with comments and trailing commas. */
function parseLoosely(text: string): unknown {
  const plain = text
    .replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[^]*?\*\//g, (_, string?: string) => string ?? '')
    .replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, string?: string) => string ?? '')
  try {
    return JSON.parse(plain)
  } catch {
    return {}
  }
}
