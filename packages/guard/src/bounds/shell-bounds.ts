import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { outsideRuns } from '@retake/engine/hook'
import { clipText } from '@retake/tape/format'
import { matchesText } from '../data/name-pattern.js'
import type { Command, ShellScope } from './scopes.js'
import { type Denial, GuardError } from '../denials/guard-error.js'
import { shellDenials } from '../denials/scope-denials.js'
import { sandboxMissing } from '@retake/runner/sandbox'

/** Any number of arguments: without options, and with options. */
const REST = '**'
const REST_WITH_OPTIONS = '-**'

/** One entry of `ShellScope.allow`: a program and the arguments it may be started with. */
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

  /** Compares words literally. With `anyWord`, a listed `*` matches any word: `sh -c *` is any command. */
  fitsExactly(args: readonly string[], anyWord = false): boolean {
    const listed = this.words.slice(1)
    const isSame = (word: string, at: number): boolean =>
      word === args[at] || (anyWord && word === '*' && fitsOne('*', args[at]))
    return listed.length === args.length && listed.every(isSame)
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
  // Arguments with `..`, which would let `src/*` leave `src`.
  return matchesText(pattern, argument) && !/(^|[/\\=:,])\.\.($|[/\\])/.test(argument)
}

/** Windows programs also read `/x` as an option. */
const isOption = (argument: string): boolean =>
  argument.startsWith('-') || (process.platform === 'win32' && argument.startsWith('/'))

const SHOWN_VECTORS = 12
const SHOWN_CHARACTERS = 200

const DENIALS = {
  program: shellDenials.SHELL_NOT_ALLOWED,
  worker: shellDenials.WORKER_NOT_ALLOWED,
  signal: shellDenials.SIGNAL_NOT_ALLOWED,
  addon: shellDenials.NATIVE_ADDON,
}

/** Denies code that no boundary sees inside of. Only a shell scope can allow it. */
export const unseenCodeDenial = (kind: 'worker' | 'addon', file: string): Denial =>
  DENIALS[kind](
    'guard/process',
    { command: file, reason: 'Scopes are not enforced in workers and native add-ons' },
    `${kind === 'worker' ? 'Do the work in the tool' : 'Load it before the call'}, or add shell: { allow: [['${kind}', '${file}']] } to a policy.`,
  )

/** Denies a program that needs a sandbox where there is none. */
export const noSandboxDenial = (rule: string, command: Command): Denial =>
  shellDenials.SHELL_NO_SANDBOX(rule, {
    command: shown(command),
    missing: sandboxMissing() ?? '',
  })

const vectorsText = (vectors: readonly ArgumentVector[]): string => {
  if (vectors.length === 0) return 'Nothing may be started.'
  const more = vectors.length - SHOWN_VECTORS
  const texts = vectors.slice(0, SHOWN_VECTORS).map(({ text }) => text)
  return `Allowed: ${texts.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`
}

function shown({ file, args }: Command): string {
  const text = [file, ...args]
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word)))
    .join(' ')
  return clipText(text, SHOWN_CHARACTERS)
}

/** Searched if `PATH` is not set. */
const DEFAULT_PATH = ['/bin', '/usr/bin']
const isWindows = process.platform === 'win32'

interface Surroundings {
  readonly cwd: string
  readonly path: string | undefined
}

/** The file that the system would execute, with links resolved; undefined if there is none. */
function findProgram(file: string, { cwd, path: list }: Surroundings): string | undefined {
  return outsideRuns(() => {
    // A name with a separator is not looked up in `PATH`.
    if (file.includes('/') || (isWindows && /[\\:]/.test(file)))
      return realFile(path.resolve(cwd, file))
    const folders = list === undefined ? DEFAULT_PATH : list.split(path.delimiter)
    for (const folder of isWindows ? ['.', ...folders] : folders) {
      const found = realFile(path.resolve(cwd, folder, file))
      if (found !== undefined) return found
    }
    return undefined
  })
}

/** The name of a program, without the extension on Windows. */
function programName(file: string): string {
  const name = path.basename(file)
  return isWindows ? name.toLowerCase().replace(/\.(exe|com)$/, '') : name
}

function realFile(file: string): string | undefined {
  for (const ending of isWindows ? ['', '.com', '.exe'] : ['']) {
    try {
      accessSync(file + ending, constants.X_OK)
      if (statSync(file + ending).isFile()) return realpathSync.native(file + ending)
    } catch {
      // Try the next one.
    }
  }
  return undefined
}

/** Variables that change only what a program prints. */
const HARMLESS =
  /^(?:NODE_ENV|NODE_UNIQUE_ID|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLUMNS|LINES|(?:NO|FORCE)_COLOR|CI|PWD|OLDPWD|GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS|GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE))$/

/** Variables that can load code, change settings, or change which program runs. */
const POWERFUL =
  /^(?:LD_|DYLD_|NODE_|NPM_|GIT_|PYTHON|PERL|RUBY|GEM_|BUNDLE_|JAVA|JDK_|MAVEN_|GRADLE_|CARGO_|RUST|GO(?:ENV|ROOT|TOOLCHAIN)|LUA_|PHP|BASH_|XDG_|SSH_|GCONV_|MALLOC_)|^(?:ENV|HOME|IFS|SHELL|SHELLOPTS|PS4|PROMPT_COMMAND|BROWSER|LESSOPEN|LESSCLOSE|TMPDIR|(?:CURL|INPUT|NET|PSQL|VIM|WGET|ZSH)RC)$|(?:PATH|OPTIONS|OPTS|FLAGS|COMMAND|EDITOR|PAGER|PROXY|CONFIG|CONF|HOME|PRELOAD|STARTUP)$/i

export interface ShellBounds {
  /** `isConfined`: it runs in a sandbox. `isContained`: the sandbox shows only listed folders. */
  check(command: Command, isConfined: boolean, isContained?: boolean): Denial | undefined
}

/**
 * A compiled shell scope. Uses the `PATH` and the working directory at the time of compilation.
 *
 * Not promised: what an allowed program does without a sandbox, and a file that is replaced between
 * the check and the start.
 */
export function shellBounds(policy: string, scope: ShellScope): ShellBounds {
  const rule = `${policy}/shell`
  const { allow, env: settable = [] } = scope
  if (allow === undefined) return { check: () => undefined }
  const vectors = allow.map((words) => new ArgumentVector(words.map(withFullPath)))
  for (const vector of vectors) {
    if (vector.mistake !== undefined)
      throw new GuardError(
        shellDenials.SHELL_SCOPE_INVALID(rule, { vector: vector.text, mistake: vector.mistake }),
      )
  }
  const own = { ...process.env }
  const here = { cwd: process.cwd(), path: pathOf(own) }
  const notAllowed = (command: Command, reason: string): Denial =>
    DENIALS[command.kind ?? 'program'](
      rule,
      { command: shown(command), reason },
      vectorsText(vectors),
    )

  // A tool may replace the file later, but a sandbox limits the replacement in the same way.
  const found = new Map(vectors.map((each) => [each, findProgram(each.program, here)]))

  /** True if the program that would run is the listed one. */
  const isListed = (vector: ArgumentVector, command: Command, isConfined: boolean): boolean => {
    if (command.kind !== undefined && command.kind !== 'program')
      return vector.program === command.file
    if (programName(vector.program) !== programName(command.file)) return false
    const listed = isConfined ? findProgram(vector.program, here) : found.get(vector)
    if (listed === undefined) return false
    return (
      listed ===
      findProgram(command.file, {
        cwd: command.cwd ?? process.cwd(),
        path: pathOf(command.env ?? process.env),
      })
    )
  }

  const check: ShellBounds['check'] = (command, isConfined, isContained = false) => {
    const { args } = command
    if (command.shell) {
      const fitting = vectors.filter(
        (each) => each.fitsExactly(args, true) && isListed(each, command, isConfined),
      )
      if (fitting.length === 0)
        return shellDenials.SHELL_STRING(rule, { command: shown(command) }, vectorsText(vectors))
      if (!isConfined && !fitting.some((each) => each.fitsExactly(args)))
        return noSandboxDenial(rule, command)
      return checkSurroundings(command, isContained)
    }
    const named = vectors.filter(
      ({ program }) => programName(program) === programName(command.file),
    )
    if (named.length === 0)
      return notAllowed(command, `No vector names ${programName(command.file)}`)
    const listed = named.filter((each) => isListed(each, command, isConfined))
    if (listed.length === 0)
      return notAllowed(command, `The ${command.file} that would run is not the listed program`)
    if (!listed.some((each) => each.fits(args)))
      return notAllowed(command, 'No vector matches these arguments')
    if (!isConfined && !listed.some((each) => each.fitsExactly(args)))
      return noSandboxDenial(rule, command)
    if (command.argv0 !== undefined && programName(command.argv0) !== programName(command.file))
      return notAllowed(command, `It would be called by another name, ${command.argv0}`)
    return checkSurroundings(command, isContained)
  }

  const environmentDenial = (command: Command, how: string): Denial =>
    shellDenials.SHELL_ENVIRONMENT(rule, { command: shown(command), how }, settable.join(', '))

  const checkSurroundings = (command: Command, isContained: boolean): Denial | undefined => {
    if (command.otherUser === true) return environmentDenial(command, 'as another user or group')
    // Code loaded through a variable sees the same files as the program.
    if (isContained) return undefined
    for (const [name, value] of Object.entries(command.env ?? process.env)) {
      if (
        own[name] === value ||
        HARMLESS.test(name) ||
        (process.env[name] === value && !POWERFUL.test(name)) ||
        settable.some((pattern) => matchesText(pattern, name))
      )
        continue
      return environmentDenial(command, `with a different ${name}`)
    }
    return undefined
  }

  return { check }
}

/** Workers and add-ons are identified by their full path. */
const withFullPath = (word: string, at: number, words: readonly string[]): string =>
  at === 1 && (words[0] === 'worker' || words[0] === 'addon') && !/[*:]/.test(word)
    ? path.resolve(word)
    : word

const pathOf = (env: Readonly<Record<string, string | undefined>>): string | undefined => {
  if (process.platform !== 'win32') return env['PATH']
  const name = Object.keys(env).find((each) => each.toUpperCase() === 'PATH')
  return name === undefined ? undefined : env[name]
}
