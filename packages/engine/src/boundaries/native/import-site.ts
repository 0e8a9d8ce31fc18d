import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { disk } from '../../overlay/disk.js'

const SPECIFIER = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(['"])([^'"\n]+)\1/g
const ENDINGS = ['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.tsx', '/index.js', '/index.ts']
const FILES_MAX = 500
const FRAME = /(file:\/\/[^\s()]+|(?:\/|[A-Za-z]:\\)[^()]*?):\d+:\d+\)?$/

/**
 * Where the agent imports the package that loads `addon`, as `path:line:column`. An ES module
 * is not on the stack while what it imports is loaded, so its text is searched instead, and
 * that of the files that it imports in turn. Undefined when none of them names the package.
 */
export function importSite(addon: string): string | undefined {
  const packages = new Set([addon, ...packagesOnStack()])
  const [, entry] = process.argv
  const waiting = entry === undefined ? [] : [path.resolve(entry)]
  const seen = new Set(waiting)
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    const text = read(file)
    for (const match of text.matchAll(SPECIFIER)) {
      const specifier = match[2] ?? ''
      if (isOf(packages, specifier)) return `${file}:${lineAndColumn(text, match.index)}`
      const next = /^\.{1,2}\//.test(specifier)
        ? find(path.resolve(file, '..', specifier))
        : undefined
      if (next === undefined || seen.has(next) || seen.size >= FILES_MAX) continue
      seen.add(next)
      waiting.push(next)
    }
  }
  return undefined
}

/** Packages whose code is loading the add-on right now. */
function packagesOnStack(): string[] {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 60
  const stack = String(new Error().stack)
  Error.stackTraceLimit = stackTraceLimit
  return stack.split('\n').flatMap((line) => {
    const [, file = ''] = FRAME.exec(line) ?? []
    const filePath = file.startsWith('file:') ? fileURLToPath(file) : file
    const name = filePath.split(/[\\/]node_modules[\\/]/).at(-1)
    const [scope = '', inner = ''] = name === filePath ? [] : (name ?? '').split(/[\\/]/)
    return scope === '' ? [] : [scope.startsWith('@') ? `${scope}/${inner}` : scope]
  })
}

const isOf = (packages: ReadonlySet<string>, specifier: string): boolean =>
  [...packages].some((name) => specifier === name || specifier.startsWith(`${name}/`))

function lineAndColumn(text: string, at: number): string {
  const before = text.slice(0, at).split('\n')
  const start = text.slice(0, at).length - (before.at(-1)?.length ?? 0)
  return `${before.length}:${at - start + 1}`
}

function find(base: string): string | undefined {
  const written = base.replace(/\.([cm]?)js$/, '.$1ts')
  return [...ENDINGS.map((ending) => base + ending), written].find((file) => isFile(file))
}

const isFile = (file: string): boolean =>
  disk.statSync(file, { throwIfNoEntry: false })?.isFile() === true

function read(file: string): string {
  try {
    return disk.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
