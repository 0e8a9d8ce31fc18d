import { matchesText } from './matches-text.js'

/** Any number of arguments without options; any number of any arguments. */
const REST = '**'
const REST_WITH_OPTIONS = '-**'

/** The arguments that a program may be started with, as a scope lists them. */
export class ArgumentVector {
  readonly program: string
  readonly #patterns: readonly string[]
  readonly #rest: string | undefined

  constructor(readonly words: readonly string[]) {
    const [program = '', ...patterns] = words
    this.program = program
    const last = patterns.at(-1)
    this.#rest = last === REST || last === REST_WITH_OPTIONS ? last : undefined
    this.#patterns = this.#rest === undefined ? patterns : patterns.slice(0, -1)
  }

  /** Why it cannot be used, if it cannot. */
  get mistake(): string | undefined {
    if (this.program === '') return 'it names no program'
    if (this.program.includes('*')) return `its program "${this.program}" contains a *`
    return this.#patterns.some((pattern) => pattern === REST || pattern === REST_WITH_OPTIONS)
      ? '** is not at the end'
      : undefined
  }

  fits(args: readonly string[]): boolean {
    const patterns = this.#patterns
    if (args.length < patterns.length) return false
    if (!patterns.every((pattern, at) => fitsOne(pattern, args[at]))) return false
    const left = args.slice(patterns.length)
    if (this.#rest === undefined) return left.length === 0
    return this.#rest === REST_WITH_OPTIONS || !left.some(isOption)
  }

  /** Word for word, without patterns. */
  fitsExactly(args: readonly string[]): boolean {
    const listed = this.words.slice(1)
    return listed.length === args.length && listed.every((word, at) => word === args[at])
  }

  /** The same, except that a listed `*` allows any word: `sh -c *` allows every text. */
  fitsWords(args: readonly string[]): boolean {
    const listed = this.words.slice(1)
    return (
      listed.length === args.length &&
      listed.every((word, at) => word === args[at] || (word === '*' && fitsOne('*', args[at])))
    )
  }

  get text(): string {
    return this.words
      .map((word) => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word)))
      .join(' ')
  }
}

function fitsOne(pattern: string, argument = ''): boolean {
  if (!pattern.includes('*')) return pattern === argument
  if (pattern.startsWith('*') && isOption(argument)) return false
  if (pattern === '*') return true
  return matchesText(pattern, argument) && !climbs(argument)
}

/** `src/*` must stay in `src`. */
const climbs = (argument: string): boolean => /(^|[/\\=:,])\.\.($|[/\\])/.test(argument)

/** Windows programs read `/x` as an option, too. */
const isOption = (argument: string): boolean =>
  argument.startsWith('-') || (process.platform === 'win32' && argument.startsWith('/'))
