import { environmentOnTape, namesOnTape } from '@retake/tape/format'
import type { EnvironmentRead, EnvironmentReads, Tape } from '@retake/tape/format'
import { proofOf } from './secrets/machine-key.js'
import type { Environment, RecordedVariables, ServedVariables } from './kernel/machine.js'
import { natives } from './kernel/natives.js'
import {
  isSecretVariable,
  maskVariable,
  variablesChanged,
  type SecretMask,
} from './secrets/secrets.js'

const real = {
  get: (name: string): string | undefined => natives.env[name],
  names: (): readonly string[] => Object.keys(natives.env),
  set: (name: string, value: string): void => {
    natives.env[name] = value
    variablesChanged()
  },
  delete: (name: string): void => {
    delete natives.env[name]
    variablesChanged()
  },
}

/** The value of a variable, and the password of a URL. */
function* passwordsIn(value: string): Generator<string> {
  yield value
  const { password } = URL.canParse(value) ? new URL(value) : { password: '' }
  if (password !== '') yield decodeURIComponent(password)
}

interface RecordedEnvironmentOptions {
  readonly secrets: SecretMask
  /** Writes the variables that were read to the tape. */
  readonly onRead: (reads: EnvironmentReads) => void
  /** Called if a variable that the run has read changes without being set by the run. */
  readonly onChanged: (name: string) => void
  /** Source of the variables; this process by default. */
  readonly from?: Environment | undefined
}

/** Records each variable when it is first read. */
export class RecordedEnvironment implements RecordedVariables {
  readonly #values = new Map<string, string | undefined>()
  /** Values from a served part, which remain valid in the live part. */
  readonly #pinned = new Map<string, string | undefined>()
  readonly #from: Pick<Environment, 'get' | 'names' | 'set' | 'delete'>
  #isListed = false

  constructor(readonly options: RecordedEnvironmentOptions) {
    this.#from = options.from ?? real
  }

  get(name: string): string | undefined {
    if (this.#pinned.has(name)) return this.#pinned.get(name)
    const value = this.#from.get(name)
    if (!this.#values.has(name)) this.#record([[name, value]])
    else if (this.#values.get(name) !== value) {
      this.#values.set(name, value)
      this.options.onChanged(name)
    }
    return value
  }

  names(): readonly string[] {
    const names = this.#from.names().filter((name) => !isOwn(name))
    if (!this.#isListed) {
      this.#isListed = true
      const unread = names.filter((name) => !this.#values.has(name))
      this.#record(
        unread.map((name) => [name, this.#from.get(name)]),
        names,
      )
    }
    return names
  }

  set(name: string, value: string): void {
    if (isSecretVariable(name, value)) this.options.secrets.learn(name, value)
    this.#pinned.delete(name)
    this.#from.set(name, value)
    this.#values.set(name, value)
  }

  delete(name: string): void {
    this.#pinned.delete(name)
    this.#from.delete(name)
    this.#values.set(name, undefined)
  }

  peek(name: string): string | undefined {
    return this.#from.get(name)
  }

  peekNames(): readonly string[] {
    return this.#from.names()
  }

  knows(name: string): boolean {
    return this.#values.has(name)
  }

  *possiblePasswords(): Generator<string> {
    for (const value of this.#values.values()) if (value !== undefined) yield* passwordsIn(value)
  }

  /** Continues after the served part of the same run. */
  takeOver(served: ServedEnvironment): void {
    for (const [name, value] of served.ownValues) {
      if (value === undefined) this.#from.delete(name)
      else this.#from.set(name, value)
      this.#values.set(name, value)
    }
    const unrecorded = served.unrecorded.filter((name) => !this.#values.has(name))
    if (unrecorded.length > 0)
      this.#record(unrecorded.map((name) => [name, served.given.get(name)]))
    for (const [name, value] of served.given) {
      if (served.ownValues.has(name)) continue
      this.#values.set(name, value)
      this.#pinned.set(name, value)
    }
    if (served.isListed) this.names()
  }

  #record(
    values: readonly (readonly [string, string | undefined])[],
    names?: readonly string[],
  ): void {
    for (const [name, value] of values) {
      this.#values.set(name, value)
      if (value !== undefined && isSecretVariable(name, value))
        this.options.secrets.noteHidden(value)
    }
    const reads = values.map(([name, value]): EnvironmentRead => {
      if (value === undefined) return { name, value: null }
      if (value === '' || !isSecretVariable(name, value)) return { name, value }
      const proof = proofOf(name, value, true)
      const masked = maskVariable(name, value)
      return { name, value: masked, isSecret: true, ...(proof && { proof }) }
    })
    this.options.onRead({ reads, ...(names && { names }) })
  }
}

interface ServedEnvironmentOptions {
  readonly secrets: SecretMask
  /** The recorded read of a variable; undefined if it was not read. */
  readonly find: (name: string) => EnvironmentRead | undefined
  /** The names that are set, in order, once the program lists them. */
  readonly names: () => readonly string[]
  /**
   * True if the run goes live after the tape. Secrets, and variables that are not on the tape, then
   * come from this process.
   */
  readonly isContinued: boolean
  /**
   * True if the environment of this process was prepared for the run, with its recorded and changed
   * values.
   */
  readonly isPrepared: boolean
}

/**
 * Serves the recorded reads; all other variables are unset. A secret is a placeholder, unless this
 * process has the recorded value.
 */
export class ServedEnvironment implements ServedVariables {
  /** Set by the program; undefined if it deleted the variable. */
  readonly ownValues = new Map<string, string | undefined>()
  readonly given = new Map<string, string | undefined>()
  /** Variables that were read in the served part but are not on the tape. */
  readonly unrecorded: string[] = []
  /** Secrets for which only the placeholder was available. */
  readonly placeholders: string[] = []
  /** Secrets that may differ from those of the recording. */
  readonly #changed = new Set<string>()
  isListed = false

  constructor(readonly options: ServedEnvironmentOptions) {}

  get(name: string): string | undefined {
    if (this.ownValues.has(name)) return this.ownValues.get(name)
    if (this.given.has(name)) return this.given.get(name)
    const value = this.#serve(name)
    this.given.set(name, value)
    return value
  }

  names(): readonly string[] {
    this.isListed = true
    const names = new Set(this.options.names().filter((name) => !isOwn(name)))
    for (const [name, value] of this.ownValues)
      if (value === undefined) names.delete(name)
      else names.add(name)
    return [...names]
  }

  set(name: string, value: string): void {
    if (isSecretVariable(name, value)) this.options.secrets.learn(name, value)
    this.ownValues.set(name, value)
    // `Date` depends on it.
    if (name === 'TZ') real.set(name, value)
  }

  delete(name: string): void {
    this.ownValues.set(name, undefined)
    if (name === 'TZ') real.delete(name)
  }

  peek(name: string): string | undefined {
    return this.ownValues.has(name) ? this.ownValues.get(name) : real.get(name)
  }

  peekNames(): readonly string[] {
    return real.names()
  }

  knows(name: string): boolean {
    return this.ownValues.has(name) || this.given.has(name)
  }

  *possiblePasswords(): Generator<string> {
    for (const [name, value] of [...this.given, ...this.ownValues]) {
      if (value === undefined) continue
      const isOther = this.placeholders.includes(name) || this.#changed.has(name)
      if (!isOther && !value.includes('retake-hidden')) continue
      yield* passwordsIn(value)
    }
  }

  #serve(name: string): string | undefined {
    const { isContinued, isPrepared, find } = this.options
    // The live part passes it to child processes.
    if (isContinued && loadsCode(name)) return real.get(name)
    const read = find(name)
    if (read === undefined) {
      if (!isContinued) return undefined
      this.unrecorded.push(name)
      return real.get(name)
    }
    if (read.isSecret === true && read.value !== null) return this.#secret(read, read.value)
    return isContinued && isPrepared ? real.get(name) : (read.value ?? undefined)
  }

  #secret({ name, proof }: EnvironmentRead, placeholder: string): string {
    const { secrets, isContinued } = this.options
    const own = real.get(name)
    const isRecorded =
      own !== undefined && proof !== undefined && proofOf(name, own, false) === proof
    if (own !== undefined && (isRecorded || isContinued)) {
      if (!isRecorded) this.#changed.add(name)
      secrets.usePlaceholder(own, placeholder, name)
      return own
    }
    this.placeholders.push(name)
    return placeholder
  }
}

/** All reads on a tape, collected on first use; `look` finds most of them faster. */
export function environmentFrom(
  tape: Tape,
  options: Pick<ServedEnvironmentOptions, 'secrets' | 'isContinued'> & {
    readonly until?: number | undefined
    readonly look?: (name: string) => EnvironmentRead | undefined
  },
): ServedEnvironment {
  const { secrets, isContinued, until, look } = options
  let whole: Map<string, EnvironmentRead> | undefined
  const all = (): Map<string, EnvironmentRead> => (whole ??= environmentOnTape(tape, until))
  const isPrepared = tape.run.scope === 'process'
  const set = (): string[] =>
    [...all().values()].flatMap(({ name, value }) => (value === null ? [] : [name]))
  return new ServedEnvironment({
    secrets,
    find: (name) => look?.(name) ?? all().get(name),
    names: () => (isContinued && isPrepared ? real.names() : (namesOnTape(tape, until) ?? set())),
    isContinued,
    isPrepared,
  })
}

/** Variables of Retake itself, which the program does not see. */
const isOwn = (name: string): boolean => name.startsWith('RETAKE_')

/**
 * Variables that Node itself reads, or that libraries read before any code of the program runs. They
 * are restored when a process run is replayed; all others are on the tape where the program read
 * them.
 */
const SURROUNDINGS =
  /^(?:TZ|LANG|LANGUAGE|LC_\w+|NODE_\w+|FORCE_COLOR|NO_COLOR|CLICOLOR\w*|COLORTERM|TERM|COLUMNS|LINES|CI|TMUX|UV_THREADPOOL_SIZE|SSL_CERT_(?:FILE|DIR)|OPENSSL_CONF|(?:HTTPS?|ALL|NO)_PROXY|(?:https?|all|no)_proxy)$/

/**
 * Variables that make a program load code. They come from the run record, which trust in a run
 * covers, or from this machine; never from reads on the tape.
 */
const LOADS_CODE =
  /^(?:NODE_OPTIONS|NODE_PATH|NODE_REPL_EXTERNAL_MODULE|LD_\w+|DYLD_\w+|OPENSSL_(?:CONF|ENGINES|MODULES)|BASH_ENV|ENV|PYTHON(?:STARTUP|PATH|HOME)|RUBY(?:OPT|LIB)|PERL5(?:OPT|LIB|DB)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|GIT_(?:SSH|SSH_COMMAND|EXEC_PATH|EXTERNAL_DIFF|CONFIG_\w+))$/i

export const loadsCode = (name: string): boolean => LOADS_CODE.test(name)

/** True for variables of the run record, which are never taken from recorded reads. */
export const isSurrounding = (name: string): boolean => SURROUNDINGS.test(name) || loadsCode(name)

/** The variables for the run record, with secrets masked. */
export function surroundingsOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const surrounding: Record<string, string> = {}
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && isSurrounding(name)) surrounding[name] = maskVariable(name, value)
  return surrounding
}

/** An environment with the variables of a run record in place of its own. */
export function withSurroundings(
  env: NodeJS.ProcessEnv,
  recorded: Readonly<Record<string, string>>,
): Record<string, string> {
  const others = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !isSurrounding(entry[0]),
  )
  return { ...Object.fromEntries(others), ...recorded }
}
