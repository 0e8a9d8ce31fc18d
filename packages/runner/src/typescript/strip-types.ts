import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import type * as Swc from '@swc/wasm-typescript'
import { RetakeError } from '@retake/engine/errors'
import { attempt } from '@retake/tape/format'
import { compileDecorators, usesDecorators } from './compile-decorators.js'

/** swc throws a plain object, not an Error. */
interface SwcProblem {
  readonly code: string
  readonly message: string
  readonly snippet?: string
  readonly startLine?: number
  readonly startColumn?: number
}

// Taken before the engine replaces it.
const readText = readFileSync

// A CommonJS package of 4 MB, loaded on first use, or early by `loadStripper`.
let swc: typeof Swc | undefined
export const loadStripper = (): typeof Swc =>
  (swc ??= createRequire(import.meta.url)('@swc/wasm-typescript') as typeof Swc)

/** `mapped`: positions moved, and the code has a source map. */
interface JavaScript {
  readonly code: string
  readonly mapped: boolean
}

/**
 * Turns TypeScript into JavaScript. Types become blanks, so that positions stay the same. Only code
 * that needs more (enums, namespaces, parameter properties, unmarked type imports, decorators) is
 * rewritten and gets a source map.
 */
export function stripTypes(source: string, path: string): JavaScript {
  return outside(() => {
    const stripped = strippedFiles()[path]
    // The file may have changed since then.
    return stripped?.source === source ? stripped : toJavaScript(source, path)
  })
}

/** Compiling is not the agent's work, even if it happens in its process. */
let outside = <T>(work: () => T): T => work()
export const stripOutside = (run: typeof outside): void => void (outside = run)

interface StrippedFile extends JavaScript {
  readonly source: string
}
/** By path. */
type StrippedFiles = Readonly<Record<string, StrippedFile>>

const NONE: StrippedFiles = {}
let strippedFiles = (): StrippedFiles => NONE

/** Names the file in the address of a loader. */
export const STRIPPED = 'stripped'

/**
 * Uses what `stripFiles` returned in the process that started this one, if the address of a loader
 * names a file with it.
 */
export function useStrippedOf(loader: string): boolean {
  const file = new URL(loader).searchParams.get(STRIPPED)
  if (file === null) return false
  let files: StrippedFiles | undefined
  strippedFiles = () =>
    (files ??= attempt(() => JSON.parse(readText(file, 'utf8')) as StrippedFiles, NONE))
  return true
}

/** A longer program is stripped where it runs, because it may load few of its files. */
const LENGTH_MAX = 2_000_000

/**
 * Strips files for processes that this one starts: loading the stripper takes longer than most
 * agents. Leaves out files that only the project's own compiler can strip.
 */
export function stripFiles(paths: readonly string[]): StrippedFiles {
  const files: Record<string, StrippedFile> = {}
  let length = 0
  for (const path of paths) {
    const source = attempt(() => readText(path, 'utf8'))
    length += source?.length ?? 0
    if (length > LENGTH_MAX) return NONE
    if (source === undefined || usesDecorators(source)) continue
    const known = stripped.get(path)
    // A file with a syntax error is left to the process that loads it.
    const file =
      known?.source === source ? known : attempt(() => ({ source, ...toJavaScript(source, path) }))
    if (file === undefined) continue
    stripped.set(path, file)
    files[path] = file
  }
  return files
}

const stripped = new Map<string, StrippedFile>()

function toJavaScript(source: string, path: string): JavaScript {
  try {
    const { code } = run(source, path, 'strip-only')
    if (!usesDecorators(code) && !importsOnlyTypes(code, source, path))
      return { code, mapped: false }
  } catch (problem) {
    if ((problem as SwcProblem).code !== 'UnsupportedSyntax') throw syntaxError(problem, path)
  }
  try {
    const output = run(source, path, 'transform')
    const { code, map } = usesDecorators(output.code) ? compileDecorators(source, path) : output
    return { code: code + inlineMap(map, source, path), mapped: true }
  } catch (problem) {
    if (!(problem instanceof RetakeError)) throw syntaxError(problem, path)
    const { code, what, why, fix } = problem
    // Hides our own frames if nothing catches the error.
    problem.stack = `error  ${what}\n  why  ${why}\n  fix  ${fix}\n  code ${code}`
    throw problem
  }
}

function run(source: string, path: string, mode: 'strip-only' | 'transform'): Swc.TransformOutput {
  return loadStripper().transformSync(source, {
    mode,
    filename: path,
    sourceMap: mode === 'transform',
    transform: { verbatimModuleSyntax: false, nativeClassProperties: true, noEmptyExport: true },
  })
}

const IMPORTED = /^\s*import\s+([\w$*{][^'";]*?)\s*from\s*['"]/gm

/** True for a type import without `type`, which would fail to link unless removed. */
function importsOnlyTypes(stripped: string, source: string, path: string): boolean {
  const before = importedNames(stripped)
  if (before.size === 0) return false
  const used = importedNames(run(source, path, 'transform').code)
  return [...before].some((name) => !used.has(name))
}

function importedNames(code: string): Set<string> {
  const names = new Set<string>()
  for (const [, clause = ''] of code.matchAll(IMPORTED)) {
    for (const part of clause.split(/[{},]/)) {
      const name = part.trim().split(/\s+/).at(-1)
      if (name) names.add(name)
    }
  }
  return names
}

function inlineMap(map: string | undefined, source: string, path: string): string {
  if (map === undefined) return ''
  const complete = {
    ...(JSON.parse(map) as object),
    sources: [pathToFileURL(path).href],
    sourcesContent: [source],
  }
  const base64 = Buffer.from(JSON.stringify(complete)).toString('base64')
  return `\n//# sourceMappingURL=data:application/json;base64,${base64}`
}

/** Names file, line and column. Its stack shows the code instead of our own frames. */
function syntaxError(problem: unknown, path: string): unknown {
  const { message, snippet, startLine, startColumn } = problem as SwcProblem
  if (startLine === undefined || startColumn === undefined) return problem
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  const error = new SyntaxError(message)
  Error.stackTraceLimit = limit
  const position = `${path}:${startLine}:${startColumn + 1}`
  error.stack = `${position}\n${(snippet ?? '').trimEnd()}\n\nSyntaxError: ${message}\n    at ${position}`
  return error
}
