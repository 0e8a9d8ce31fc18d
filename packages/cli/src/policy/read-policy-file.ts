import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { isInstalled, uninstall } from '@retake/engine'
import type { Document, LineCounter } from 'yaml'
import { policyUnreadable } from '../errors.js'

/** Where in a file something stands, both from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** A policy file as data, and where in it each part stands. */
export interface PolicyFile {
  readonly file: string
  readonly data: unknown
  /** Undefined where the file is a program. */
  placeOf(path: readonly (string | number)[]): Place | undefined
}

/** Reads YAML, JSON, or the default export of a JavaScript or TypeScript file. */
export async function readPolicyFile(file: string): Promise<PolicyFile> {
  if (/\.[cm]?[jt]s$/.test(file)) return readModule(file)
  const yaml = await import('yaml')
  const lines = new yaml.LineCounter()
  const document = yaml.parseDocument(read(file), { lineCounter: lines, prettyErrors: false })
  const [wrong] = document.errors
  if (wrong !== undefined) {
    const { line, col } = lines.linePos(wrong.pos[0])
    const fix = wrong.code === 'TAB_AS_INDENT' ? 'Indent with spaces.' : 'Correct that place.'
    throw policyUnreadable(`${file}:${line}:${col}`, firstLine(wrong.message), fix)
  }
  return {
    file,
    data: document.toJS({ maxAliasCount: 100 }) as unknown,
    placeOf: (path) => placeIn(yaml, document, lines, path),
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw policyUnreadable(
        file,
        `There is no file ${path.resolve(file)}`,
        'Check the path; it is meant from the working directory.',
      )
    throw policyUnreadable(file, error instanceof Error ? error.message : String(error))
  }
}

async function readModule(file: string): Promise<PolicyFile> {
  const wasInstalled = isInstalled()
  try {
    if (file.endsWith('ts')) await import('../typescript/typescript-loader.js')
    const { href } = pathToFileURL(path.resolve(file))
    const module = (await import(href)) as { readonly default?: unknown }
    return { file, data: module.default, placeOf: () => undefined }
  } catch (error) {
    throw policyUnreadable(file, error instanceof Error ? firstLine(error.message) : String(error))
  } finally {
    // Presets come with the library, which puts itself between a program and the outside.
    // Where it is there already, a program uses it, and its guards go on holding.
    if (!wasInstalled) uninstall()
  }
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''

/** The key of a member, or the item of a list; of something that is not there, what it is missing in. */
function placeIn(
  { isMap, isPair, isScalar, isSeq }: typeof import('yaml'),
  document: Document.Parsed,
  lines: LineCounter,
  wanted: readonly (string | number)[],
): Place | undefined {
  let node: unknown = document.contents
  let offset = startOf(node)
  for (const key of wanted) {
    if (isMap(node)) {
      const pair = node.items.find((each) => isScalar(each.key) && String(each.key.value) === key)
      if (!isPair(pair)) break
      offset = startOf(pair.key) ?? offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(key)]
      offset = startOf(node) ?? offset
    } else break
  }
  if (offset === undefined) return undefined
  const { line, col } = lines.linePos(offset)
  return { line, column: col }
}

const startOf = (node: unknown): number | undefined =>
  (node as { range?: readonly number[] | null } | null)?.range?.[0]
