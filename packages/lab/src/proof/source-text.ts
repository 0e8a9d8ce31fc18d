import { parse, parseExpression, type ParserOptions } from '@babel/parser'
import type { FileEdit, SourceFile } from './candidates.js'
import { attempt, hashText, isRecord } from '@retake/tape'

interface RawNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

export interface TextRange {
  readonly start: number
  readonly end: number
}

/** A syntax node. Fields are read by name, so that operators need no types of the parser. */
export class SyntaxNode implements TextRange {
  readonly type: string
  readonly start: number
  readonly end: number

  constructor(
    readonly source: ParsedSource,
    readonly raw: RawNode,
    readonly parent: SyntaxNode | undefined,
  ) {
    ;({ type: this.type, start: this.start, end: this.end } = raw)
  }

  get text(): string {
    return this.source.text.slice(this.start, this.end)
  }

  get line(): number {
    return this.source.lineAt(this.start)
  }

  /** Whitespace at the start of its line. */
  get indent(): string {
    const { text } = this.source
    const start = text.lastIndexOf('\n', this.start - 1) + 1
    return /^[ \t]*/.exec(text.slice(start))?.[0] ?? ''
  }

  /** The nodes around it, innermost last. */
  get around(): SyntaxNode[] {
    return this.parent === undefined ? [] : [...this.parent.around, this.parent]
  }

  child(field: string): SyntaxNode | undefined {
    return this.source.nodeOf(this.raw[field])
  }

  children(field: string): SyntaxNode[] {
    const value = this.raw[field]
    return Array.isArray(value) ? value.flatMap((each) => this.source.nodeOf(each) ?? []) : []
  }

  get callee(): SyntaxNode | undefined {
    return this.child('callee')
  }

  get args(): SyntaxNode[] {
    return this.children('arguments')
  }

  get object(): SyntaxNode | undefined {
    return this.child('object')
  }

  /** Name of an identifier, or of the last member of `a.b.c`. */
  get name(): string | undefined {
    if (this.type === 'Identifier') return String(this.raw['name'])
    if (this.type === 'StringLiteral') return String(this.raw['value'])
    if (/^(?:Optional)?MemberExpression$/.test(this.type) && this.raw['computed'] !== true)
      return this.child('property')?.name
    return undefined
  }

  /** Property names of an object or pattern; `''` for a property without a name. */
  get propertyNames(): string[] {
    return this.children('properties').map((each) => each.child('key')?.name ?? '')
  }

  get isFunction(): boolean {
    return /^(?:FunctionDeclaration|(?:Arrow)?FunctionExpression|(?:Object|Class)Method)$/.test(
      this.type,
    )
  }

  get isLoop(): boolean {
    return /^(?:While|DoWhile|For|ForOf|ForIn)Statement$/.test(this.type)
  }

  get functionAround(): SyntaxNode | undefined {
    return this.around.findLast((each) => each.isFunction)
  }

  /** True where `await` is allowed: in an async function, or outside of any function. */
  get canAwait(): boolean {
    const inner = this.functionAround
    return inner === undefined || inner.raw['async'] === true
  }

  isAround(offset: number): boolean {
    return this.start <= offset && offset < this.end
  }

  replace(text: string): SourceEdit {
    return this.source.edit().replace(this, text)
  }

  insertBefore(text: string): SourceEdit {
    return this.source.edit().insert(this.start, text)
  }

  wrap(before: string, after: string): SourceEdit {
    return this.insertBefore(before).insert(this.end, after)
  }
}

/** A source file with its syntax tree. Edits change the text by position, so formatting stays. */
export class ParsedSource {
  readonly path: string
  readonly text: string
  readonly #program: RawNode
  #nodes: Map<unknown, SyntaxNode> | undefined

  constructor({ path, text }: SourceFile) {
    this.path = path
    this.text = text
    // JSON is an expression; its tree has the same nodes.
    this.#program = (path.endsWith('.json')
      ? parseExpression(text, parserOptions(path))
      : parse(text, parserOptions(path)).program) as unknown as RawNode
  }

  /** Returns undefined if the file is not JavaScript, TypeScript or JSON, or cannot be parsed. */
  static tryParse(source: SourceFile): ParsedSource | undefined {
    if (!/\.(?:[cm]?[jt]sx?|json)$/.test(source.path)) return undefined
    return attempt(() => new ParsedSource(source))
  }

  get isCode(): boolean {
    return !this.path.endsWith('.json')
  }

  get isTyped(): boolean {
    return /\.[cm]?tsx?$/.test(this.path)
  }

  /** Nodes by the parser's own node, outer before inner. */
  get #byRaw(): Map<unknown, SyntaxNode> {
    if (this.#nodes === undefined) {
      this.#nodes = new Map()
      this.#add(this.#program, undefined)
    }
    return this.#nodes
  }

  #add(raw: RawNode, parent: SyntaxNode | undefined): void {
    const node = new SyntaxNode(this, raw, parent)
    this.#byRaw.set(raw, node)
    for (const [name, value] of Object.entries(raw)) {
      if (name === 'loc' || name.endsWith('Comments') || name === 'extra') continue
      for (const child of Array.isArray(value) ? (value as unknown[]) : [value])
        if (isRecord(child) && 'type' in child && 'start' in child)
          this.#add(child as unknown as RawNode, node)
    }
  }

  /** The whole file. */
  get program(): SyntaxNode {
    return this.nodeOf(this.#program)!
  }

  nodeOf(raw: unknown): SyntaxNode | undefined {
    return this.#byRaw.get(raw)
  }

  ofType(...types: readonly string[]): SyntaxNode[] {
    return this.filter(({ type }) => types.includes(type))
  }

  filter(isWanted: (node: SyntaxNode) => boolean): SyntaxNode[] {
    return [...this.#byRaw.values()].filter(isWanted)
  }

  /** Calls of a function, given by its text, such as `JSON.parse`. */
  calls(callee: string): SyntaxNode[] {
    return this.ofType('CallExpression').filter((node) => node.callee?.text === callee)
  }

  /** The number that a constant is initialised with. */
  constant(name: string | undefined): SyntaxNode | undefined {
    return this.ofType('VariableDeclarator')
      .filter((node) => node.child('id')?.name === name)
      .map((node) => node.child('init'))
      .find((init) => init?.type === 'NumericLiteral')
  }

  /** Offset of a line and column, both counted from 1. */
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

  /** A variation of this name that the file does not use yet. */
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
   * An edit that also adds a helper function, under a free name, at the end of the file, where
   * function declarations are hoisted. Text between ⟨ and ⟩ is kept for TypeScript only.
   */
  editWith(helper: string, change: (name: string) => SourceEdit): SourceEdit {
    const [, declared = ''] = /function (\w+)/.exec(helper) ?? []
    const name = this.freeName(declared)
    const text = helper
      .replaceAll(/⟨([^⟩]*)⟩/g, this.isTyped ? '$1' : '')
      .replace(`function ${declared}`, () => `function ${name}`)
    const gap = this.text.endsWith('\n') ? '' : '\n'
    return change(name).insert(this.text.length, `${gap}\n${text.trim()}\n`)
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

export class SourceEdit {
  readonly #changes: (TextRange & { readonly text: string })[] = []

  constructor(readonly source: ParsedSource) {}

  replace({ start, end }: TextRange, text: string): this {
    this.#changes.push({ start, end, text })
    return this
  }

  insert(at: number, text: string): this {
    return this.replace({ start: at, end: at }, text)
  }

  /** The changed file; undefined if nothing changes or the result is not valid. */
  finish(): FileEdit | undefined {
    const changes = this.#changes.toSorted(
      (left, right) => left.start - right.start || left.end - right.end,
    )
    const { path, text: before } = this.source
    let after = ''
    let at = 0
    for (const { start, end, text } of changes) {
      if (start < at) return undefined
      after += before.slice(at, start) + text
      at = end
    }
    after += before.slice(at)
    const isBroken = syntaxErrorCount(path, after) > syntaxErrorCount(path, before)
    return after === before || isBroken ? undefined : { path, before, after }
  }
}

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

/** Content hash of an edit. */
export const editId = ({ path, after }: FileEdit): string =>
  hashText(`${path}\0${after}`).toString(36).padStart(10, '0').slice(0, 10)

/** A stack line with a path; frames of Node itself have none. */
const FRAME = /^\s*at (?:async )?(?:.*\()?((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/]).*:\d+:\d+)\)?\s*$/

/** Stack frames in the project's own code, without Node and packages. */
export const stackSites = (stack = ''): string[] =>
  stack
    .split('\n')
    .flatMap((line) => FRAME.exec(line)?.[1] ?? [])
    .filter((site) => !/[\\/]node_modules[\\/]/.test(site))
    .map((site) => site.replace(/^file:\/\//, ''))

export interface SourceOffset {
  readonly source: ParsedSource
  readonly offset: number
}

/** Source file and offset of a site. */
export const findSite = (
  sources: readonly ParsedSource[],
  site: string | undefined,
): SourceOffset | undefined => {
  const [, named, line, column] = /^(?:file:\/\/)?(.+?):(\d+):(\d+)$/.exec(site ?? '') ?? []
  const file = named?.replaceAll('\\', '/')
  const [source] = sources
    .filter(({ path }) => file === path || file?.endsWith(`/${path}`))
    .toSorted((left, right) => right.path.length - left.path.length)
  if (source === undefined) return undefined
  const offset = source.offsetAt(Number(line), Number(column))
  // Frames of async functions point to `await`; the call follows it.
  const awaited = /^await\s+/.exec(source.text.slice(offset, offset + 40))
  return { source, offset: offset + (awaited?.[0].length ?? 0) }
}
