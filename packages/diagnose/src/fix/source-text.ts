import { parse, parseExpression, type ParserOptions } from '@babel/parser'
import type { FileEdit, SourceFile } from './candidates.js'
import { hashText } from '@retake/tape'

/** A node of a syntax tree. Fields are read by name, so that operators need no types of the parser. */
export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** A node with the nodes around it, innermost last. */
export interface FoundNode {
  readonly node: SyntaxNode
  readonly around: readonly SyntaxNode[]
}

/** A source file with its syntax tree. Edits are made on the text by positions; nothing is printed from the tree. */
export class ParsedSource {
  readonly path: string
  readonly text: string
  readonly #program: SyntaxNode
  #nodes: readonly FoundNode[] | undefined

  constructor({ path, text }: SourceFile) {
    this.path = path
    this.text = text
    this.#program = parseText(path, text)
  }

  /** Undefined for a file that is not JavaScript, TypeScript or JSON, or that cannot be parsed. */
  static tryParse(source: SourceFile): ParsedSource | undefined {
    if (!/\.(?:[cm]?[jt]sx?|json)$/.test(source.path)) return undefined
    try {
      return new ParsedSource(source)
    } catch {
      return undefined
    }
  }

  get isCode(): boolean {
    return !this.path.endsWith('.json')
  }

  get isTyped(): boolean {
    return /\.[cm]?tsx?$/.test(this.path)
  }

  /** All nodes, outer before inner. */
  get nodes(): readonly FoundNode[] {
    return (this.#nodes ??= [...walk(this.#program, [])])
  }

  ofType(...types: readonly string[]): FoundNode[] {
    return this.nodes.filter(({ node }) => types.includes(node.type))
  }

  textOf(node: SyntaxNode): string {
    return this.text.slice(node.start, node.end)
  }

  /** Position of a line and a column, both from 1. */
  offsetAt(line: number, column: number): number {
    let offset = 0
    for (let at = 1; at < line; at++) {
      const next = this.text.indexOf('\n', offset)
      if (next < 0) return this.text.length
      offset = next + 1
    }
    return offset + column - 1
  }

  lineAt(offset: number): number {
    return this.text.slice(0, offset).split('\n').length
  }

  /** `src/agent.ts:31`, for titles. */
  where(node: SyntaxNode): string {
    return `${this.path}:${this.lineAt(node.start)}`
  }

  /** Innermost nodes of these types around a position, innermost first. */
  enclosing(offset: number, ...types: readonly string[]): FoundNode[] {
    return this.ofType(...types)
      .filter(({ node }) => node.start <= offset && offset < node.end)
      .toReversed()
  }

  /** White space at the beginning of the line of a position. */
  indentAt(offset: number): string {
    const start = this.text.lastIndexOf('\n', offset - 1) + 1
    return /^[ \t]*/.exec(this.text.slice(start))?.[0] ?? ''
  }

  /** A name that the file does not use yet. */
  freeName(name: string): string {
    let free = name
    for (let count = 2; new RegExp(`\\b${free}\\b`).test(this.text); count++)
      free = `${name}${count}`
    return free
  }

  edit(): SourceEdit {
    return new SourceEdit(this)
  }

  /**
   * An edit that adds a function at the end of the file, where declarations can be called before
   * they are reached. It gets a free name. Text between ⟨ and ⟩ is for TypeScript only.
   */
  editWith(helper: string, change: (edit: SourceEdit, name: string) => SourceEdit): SourceEdit {
    const [, declared = ''] = /function (\w+)/.exec(helper) ?? []
    const name = this.freeName(declared)
    const text = helper
      .replaceAll(/⟨([^⟩]*)⟩/g, this.isTyped ? '$1' : '')
      .replace(`function ${declared}`, () => `function ${name}`)
    const gap = this.text.endsWith('\n') ? '' : '\n'
    return change(this.edit(), name).insert(this.text.length, `${gap}\n${text.trim()}\n`)
  }
}

const parserOptions = (path: string): ParserOptions => ({
  sourceType: 'unambiguous',
  allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true,
  errorRecovery: true,
  plugins: path.endsWith('.tsx')
    ? ['typescript', 'jsx', 'decorators']
    : /\.[cm]?ts$/.test(path)
      ? ['typescript', 'decorators']
      : ['jsx', 'decorators'],
})

/** JSON is an expression; its tree has the same nodes. */
const parseText = (path: string, text: string): SyntaxNode =>
  (path.endsWith('.json')
    ? parseExpression(text, parserOptions(path))
    : parse(text, parserOptions(path)).program) as unknown as SyntaxNode

function* walk(node: SyntaxNode, around: readonly SyntaxNode[]): Generator<FoundNode> {
  yield { node, around }
  const inside = [...around, node]
  for (const [name, value] of Object.entries(node)) {
    if (name === 'loc' || name.endsWith('Comments') || name === 'extra') continue
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (isSyntaxNode(child)) yield* walk(child, inside)
    }
  }
}

export const isSyntaxNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value

export const childNode = (node: SyntaxNode | undefined, field: string): SyntaxNode | undefined => {
  const value = node?.[field]
  return isSyntaxNode(value) ? value : undefined
}

export const childNodes = (node: SyntaxNode | undefined, field: string): readonly SyntaxNode[] => {
  const value = node?.[field]
  return Array.isArray(value) ? value.filter(isSyntaxNode) : []
}

/** Name of an identifier, or of the last member of `a.b.c`. */
export const nameOfNode = (node: SyntaxNode | undefined): string | undefined => {
  if (node === undefined) return undefined
  if (node.type === 'Identifier') return String(node['name'])
  if (node.type === 'StringLiteral') return String(node['value'])
  if (/^(?:Optional)?MemberExpression$/.test(node.type))
    return node['computed'] === true ? undefined : nameOfNode(childNode(node, 'property'))
  return undefined
}

/** Names of the properties of an object, or of a pattern; an empty text for one without a name. */
export const propertyNames = (object: SyntaxNode | undefined): string[] =>
  childNodes(object, 'properties').map((each) => nameOfNode(childNode(each, 'key')) ?? '')

/** Changes of the text of one file. */
export class SourceEdit {
  readonly #source: ParsedSource
  readonly #changes: { readonly start: number; readonly end: number; readonly text: string }[] = []

  constructor(source: ParsedSource) {
    this.#source = source
  }

  replace({ start, end }: Pick<SyntaxNode, 'start' | 'end'>, text: string): this {
    this.#changes.push({ start, end, text })
    return this
  }

  insert(at: number, text: string): this {
    return this.replace({ start: at, end: at }, text)
  }

  wrap({ start, end }: Pick<SyntaxNode, 'start' | 'end'>, before: string, after: string): this {
    return this.insert(start, before).insert(end, after)
  }

  /** The changed file; undefined if nothing changes or the result is not valid. */
  finish(): FileEdit | undefined {
    const changes = this.#changes.toSorted(
      (left, right) => left.start - right.start || left.end - right.end,
    )
    let after = ''
    let at = 0
    for (const { start, end, text } of changes) {
      if (start < at) return undefined
      after += this.#source.text.slice(at, start) + text
      at = end
    }
    after += this.#source.text.slice(at)
    const { path, text: before } = this.#source
    if (after === before || hasNewErrors(path, before, after)) return undefined
    return { path, before, after }
  }
}

/** True if an edit broke the syntax. */
const hasNewErrors = (path: string, before: string, after: string): boolean =>
  syntaxErrorCount(path, after) > syntaxErrorCount(path, before)

const syntaxErrorCount = (path: string, text: string): number => {
  try {
    if (path.endsWith('.json')) {
      JSON.parse(text)
      return 0
    }
    return parse(text, parserOptions(path)).errors?.length ?? 0
  } catch {
    return Infinity
  }
}

/** Name for a set of edits that is the same whenever the edits are. */
export const editsId = (edits: readonly FileEdit[], salt = ''): string =>
  hashText(edits.map(({ path, after }) => `${path}\0${after}`).join('\0') + salt)
    .toString(36)
    .padStart(10, '0')
    .slice(0, 10)

/** A location in the agent's code, as tapes and stacks name it. */
export interface CodeSite {
  readonly file: string
  readonly line: number
  readonly column: number
}

export const parseSite = (site: string | undefined): CodeSite | undefined => {
  const match = /^(?:file:\/\/)?(.+?):(\d+):(\d+)$/.exec(site ?? '')
  return match === null
    ? undefined
    : { file: match[1]!.replaceAll('\\', '/'), line: Number(match[2]), column: Number(match[3]) }
}

/** A line of a stack with a path; frames of Node itself have none. */
const FRAME = /^\s*at (?:async )?(?:.*\()?((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/]).*:\d+:\d+)\)?\s*$/

/** Frames of a stack in code of the project: not of Node, not of packages. */
export const stackSites = (stack: string | undefined): string[] =>
  (stack ?? '')
    .split('\n')
    .map((line) => FRAME.exec(line)?.[1])
    .filter((site) => site !== undefined)
    .filter((site) => !/[\\/]node_modules[\\/]/.test(site))
    .map((site) => site.replace(/^file:\/\//, ''))

/** The file of the project that a site is in, and the position in it. */
export const findSite = (
  sources: readonly ParsedSource[],
  site: string | undefined,
): { readonly source: ParsedSource; readonly offset: number } | undefined => {
  const at = parseSite(site)
  if (at === undefined) return undefined
  const source = sources
    .filter(({ path }) => at.file === path || at.file.endsWith(`/${path}`))
    .toSorted((left, right) => right.path.length - left.path.length)[0]
  if (source === undefined) return undefined
  const offset = source.offsetAt(at.line, at.column)
  // Frames of async functions are at `await`; the call is behind it.
  const awaited = /^await\s+/.exec(source.text.slice(offset, offset + 40))
  return { source, offset: offset + (awaited?.[0].length ?? 0) }
}
