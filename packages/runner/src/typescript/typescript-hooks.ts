import fs from 'node:fs'
import type { LoadFnOutput } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import vm from 'node:vm'
import { aliasTargets } from './path-aliases.js'
import { stripTypes } from './strip-types.js'

// Taken before the engine replaces them: from Node 22.15 on, these hooks run in the recorded
// process, and loading modules is not the agent's work.
const { readFileSync, statSync } = fs
const { compileFunction } = vm

const isTypeScript = (file: string): boolean => /\.[cm]?ts$/.test(file)

/** In the address of `user-loader`: the user's loaders only hook `require`. */
export const REQUIRED = 'required'

/** The file that an import means in TypeScript, if it is not the literal one. */
export function findSource(specifier: string, parentUrl: string | undefined): string | undefined {
  if (parentUrl === undefined || !parentUrl.startsWith('file:')) return undefined
  const parent = filePath(parentUrl)
  if (parent === undefined || !isTypeScript(parent)) return undefined
  if (!/^(\.{1,2}(\/|$)|\/|file:)/.test(specifier)) {
    if (/^(node:|#|data:)/.test(specifier) || parent.includes('/node_modules/')) return undefined
    const targets = aliasTargets(specifier, parent)
    const found = targets.flatMap((target) => [...candidates(target), target]).find(isFile)
    return found && pathToFileURL(found).href
  }
  const url = new URL(specifier, parentUrl)
  if (url.protocol !== 'file:') return undefined
  const found = candidates(fileURLToPath(url)).find(isFile)
  return found && pathToFileURL(found).href + url.search
}

/** `./x.js` resolves to `./x.ts`; `./x` to `./x.ts` or `./x/index.ts`. */
function candidates(file: string): string[] {
  const javascript = /^(.*)\.([cm]?)js$/.exec(file)
  if (javascript) return [`${javascript[1]}.${javascript[2]}ts`]
  if (isFile(file)) return []
  return ['.ts', '.mts', '.cts', '.js', '/index.ts', '/index.js'].map((ending) => file + ending)
}

const isFile = (file: string): boolean =>
  statSync(file, { throwIfNoEntry: false })?.isFile() ?? false

export interface ResolveContext {
  readonly parentURL?: string | undefined
  readonly conditions: readonly string[]
}

/** `findSource` for an `import`; for `require`, see `hookRequire`. */
export function findImported(specifier: string, context: ResolveContext): string | undefined {
  if (context.conditions.includes('require')) return undefined
  return findSource(specifier, context.parentURL)
}

/** The JavaScript of a TypeScript module; undefined for every other module. */
export function loadSource(url: string) {
  const file = filePath(url)
  if (file === undefined || !isTypeScript(file)) return undefined
  const written = readFileSync(file, 'utf8')
  const { code, mapped } = stripTypes(written, file)
  const format = moduleFormat(file, code)
  const needsRequire = format === 'module' && IMPORT_REQUIRE.test(written)
  return { format, source: needsRequire ? code + OWN_REQUIRE : code, mapped }
}

/** In a module, `import fs = require('fs')` becomes a call of `require`, as with TypeScript itself. */
const IMPORT_REQUIRE = /^\s*(?:export\s+)?import\s+[\w$]+\s*=\s*require\s*\(/m
/** At the end, so that positions stay the same; both declarations are hoisted. */
const OWN_REQUIRE = `
import { createRequire as retakeCreateRequire } from 'node:module'
function require(id) { return retakeCreateRequire(import.meta.url)(id) }
`

export function answerFor({
  format,
  source,
}: NonNullable<ReturnType<typeof loadSource>>): LoadFnOutput {
  return { format, shortCircuit: true, ...(format === 'module' && { source }) }
}

function filePath(url: string): string | undefined {
  return url.startsWith('file:') ? fileURLToPath(url.split(/[?#]/)[0] ?? url) : undefined
}

const CJS_NAMES = ['exports', 'require', 'module', '__filename', '__dirname']

/**
 * Decides whether Node treats a TypeScript file as a module. Follows Node's rule for `.js`, but
 * import and export statements always make a module, even under `"type": "commonjs"`, because
 * TypeScript projects of that type use them.
 */
function moduleFormat(file: string, code: string): 'module' | 'commonjs' {
  if (file.endsWith('.mts')) return 'module'
  if (file.endsWith('.cts')) return 'commonjs'
  if (packageType(path.dirname(file)) === 'module') return 'module'
  try {
    compileFunction(code, CJS_NAMES)
    return 'commonjs'
  } catch {
    // Not a valid CommonJS body: import, export, import.meta or await at the top.
    return 'module'
  }
}

const types = new Map<string, string | undefined>()

/** The `type` in the nearest package.json. */
export function packageType(folder: string): string | undefined {
  if (types.has(folder)) return types.get(folder)
  let type: string | undefined
  try {
    const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
      type?: string
    }
    type = manifest.type
  } catch {
    const parent = path.dirname(folder)
    if (parent !== folder) type = packageType(parent)
  }
  types.set(folder, type)
  return type
}
