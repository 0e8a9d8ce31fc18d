import fs from 'node:fs'
import type { LoadFnOutput } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { moduleFormat } from './module-format.js'
import { stripTypes } from './strip-types.js'
import { aliasTargets } from './tsconfig-paths.js'

// Taken before the engine replaces them: on Node 22.15 and later these hooks
// run inside the recorded process, and loading modules is not the agent's reading.
const { readFileSync, statSync } = fs

const isTypeScript = (file: string): boolean => /\.[cm]?ts$/.test(file)

/** The file a TypeScript author means with an import, if it is not the literal one. */
export function findSource(specifier: string, parentUrl: string | undefined): string | undefined {
  if (parentUrl === undefined || !parentUrl.startsWith('file:')) return undefined
  const parent = filePath(parentUrl)
  if (parent === undefined || !isTypeScript(parent)) return undefined
  if (!/^(\.{1,2}(\/|$)|\/|file:)/.test(specifier)) return findAlias(specifier, parent)
  const url = new URL(specifier, parentUrl)
  if (url.protocol !== 'file:') return undefined
  const found = candidates(fileURLToPath(url)).find(isFile)
  return found && pathToFileURL(found).href + url.search
}

function findAlias(specifier: string, importer: string): string | undefined {
  if (/^(node:|#|data:)/.test(specifier) || importer.includes('/node_modules/')) return undefined
  const targets = aliasTargets(specifier, importer)
  const found = targets.flatMap((target) => [...candidates(target), target]).find(isFile)
  return found && pathToFileURL(found).href
}

/** `./x.js` resolves to `./x.ts`; `./x` to `./x.ts` or `./x/index.ts`. */
function candidates(file: string): string[] {
  const javascript = /^(.*)\.([cm]?)js$/.exec(file)
  if (javascript) return [`${javascript[1]}.${javascript[2]}ts`]
  if (isFile(file)) return []
  return ['.ts', '.mts', '.cts', '.js', '/index.ts', '/index.js'].map((ending) => file + ending)
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

export interface ResolveContext {
  readonly parentURL?: string | undefined
  readonly conditions: readonly string[]
}

/** The same for an `import`; `require` has its own way, see typescript-require.ts. */
export function findImported(specifier: string, context: ResolveContext): string | undefined {
  if (context.conditions.includes('require')) return undefined
  return findSource(specifier, context.parentURL)
}

/** The JavaScript of a TypeScript module; undefined for every other module. */
export function loadSource(url: string) {
  const path = filePath(url)
  if (path === undefined || !isTypeScript(path)) return undefined
  const { code, mapped } = stripTypes(readFileSync(path, 'utf8'), path)
  return { format: moduleFormat(path, code), source: code, mapped }
}

export function answerFor({
  format,
  source,
}: NonNullable<ReturnType<typeof loadSource>>): LoadFnOutput {
  return { format, shortCircuit: true, ...(format === 'module' && { source }) }
}

function filePath(url: string): string | undefined {
  return url.startsWith('file:') ? fileURLToPath(url.split(/[?#]/)[0] ?? url) : undefined
}
