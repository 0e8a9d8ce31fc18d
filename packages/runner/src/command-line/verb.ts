import { availableParallelism } from 'node:os'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { closestName, RetakeError } from '@retake/engine/errors'
import type { Durability, Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { cliErrors } from '../errors.js'
import { type LineParts, linesOf, type Look, lookOf, printJson } from '../terminal/terminal.js'
import { parseAge } from '../parse-age.js'
import { RunStore } from '../runs/run-store.js'

/** A command. Parsing, `--help` and docs/commands.md are generated from its tables. */
export interface Verb {
  /** Arguments: `<run>`, `[run]` if optional, `<run...>` for several; `|` between forms. */
  readonly arguments: string
  readonly description?: string
  /** Options as in help: `--port <n>`, `--env <NAME=value>...` (repeatable), `--inspect [port]`. */
  readonly options: OptionTable
  readonly examples: readonly string[]
  /** Advice for too many arguments, if that suggests a likely mistake. */
  readonly tooMany?: string
  /** True if everything after the first argument belongs to the agent. */
  readonly agentFollows?: boolean
  /** True if `-word` is an argument, not an option (except `-h`). */
  readonly minusIsArgument?: boolean
  /** True if stdout belongs to the agent, so that `--json` goes to stderr. */
  readonly stdoutIsAgents?: boolean
  run(options: Options, positionals: readonly string[]): number | Promise<number>
}

type OptionTable = Readonly<Record<string, string>>
type OptionValues = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>

export const DIR_OPTION: OptionTable = {
  '--dir <folder>': 'tape folder (default: .retake/runs)',
}
export const DURABILITY_OPTION: OptionTable = {
  '--durability <machine|process>':
    'what a tape in progress survives. machine: a power cut. process: only a killed process, but Retake does not wait for the disk (default: machine)',
}
const TRUST_OPTION: OptionTable = {
  '--trust': 'start the program even if the run was recorded elsewhere',
}
export const NODE_OPTION: OptionTable = {
  '--node-arg <flag>...': 'flag for Node, as in --node-arg=--flag; repeatable',
}
/** Options of commands that start the program of a run. */
export const PROGRAM_OPTIONS: OptionTable = { ...TRUST_OPTION, ...DIR_OPTION }
export const NODE_PROGRAM_OPTIONS: OptionTable = { ...NODE_OPTION, ...PROGRAM_OPTIONS }
export const REDACT_OPTION: OptionTable = {
  '--redact <pattern>...':
    'hide matches of a regular expression, or of email, phone, card, iban, ip, id or key; adds to retake.config; repeatable',
}
export const ALLOW_SECRETS_OPTION: OptionTable = {
  '--allow-secrets': 'continue even if the run seems to contain secrets (default: refuse)',
}
const COMMON: OptionTable = {
  '--json': 'print the result as JSON',
  '-h, --help': 'print this help',
}

/** All options of a verb, in the order of its help. */
export const optionsOf = ({ options }: Verb): [spec: string, help: string][] =>
  Object.entries({
    ...options,
    ...Object.fromEntries(Object.entries(COMMON).filter(([spec]) => !(spec in options))),
  })

function parseSpec(spec: string) {
  const [, short, name = '', value, more] =
    /^(?:-(\w), )?--([\w-]+)(?: (<[^>]+>|\[[^\]]+\]))?(\.\.\.)?$/.exec(spec) ?? []
  return { name, short, value, multiple: more !== undefined }
}

const parserOptions = (verb: Verb): NonNullable<ParseArgsConfig['options']> =>
  Object.fromEntries(
    optionsOf(verb).map(([spec]) => {
      const { name, short, value, multiple } = parseSpec(spec)
      return [
        name,
        {
          type: value === undefined ? 'boolean' : 'string',
          ...(short !== undefined && { short }),
          ...(multiple && { multiple }),
        },
      ]
    }),
  )

/** Arguments before those that belong to the agent. */
export function ownArguments(verb: Verb, args: readonly string[]): readonly string[] {
  if (!verb.agentFollows) return args
  const options = parserOptions(verb)
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  const first = tokens.find(({ kind }) => kind === 'positional' || kind === 'option-terminator')
  return args.slice(0, first?.index ?? args.length)
}

/** Hides the minus of an argument from the parser. No argument can contain it. */
const QUOTE = '\0'

let current = ''

export const usageError = (what: string, why: string): RetakeError =>
  cliErrors.WRONG_USAGE(current, what, why)

export function parseVerb(
  name: string,
  verb: Verb,
  args: readonly string[],
): { options: Options; positionals: string[] } {
  current = name
  const specs = optionsOf(verb).map(([spec]) => parseSpec(spec))
  const options = parserOptions(verb)
  const cut = ownArguments(verb, args).length
  const bare = new Set(
    specs.filter(({ value }) => value?.startsWith('[')).map((each) => `--${each.name}`),
  )
  const isMinusArgument = (arg: string): boolean =>
    verb.minusIsArgument === true && /^-[^-]/.test(arg) && arg !== '-h'
  try {
    const { values, positionals, tokens } = parseArgs({
      args: args
        .slice(0, cut)
        .map((arg) => (bare.has(arg) ? `${arg}=` : isMinusArgument(arg) ? QUOTE + arg : arg)),
      options,
      allowPositionals: true,
      tokens: true,
    })
    const given = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
    const twice = given.find((each, index) => {
      const { type, multiple } = options[each] ?? {}
      return type === 'string' && multiple !== true && given.indexOf(each) < index
    })
    // `parseArgs` silently keeps only the last value.
    if (twice !== undefined) throw usageError(`--${twice} is given twice.`, 'Give it only once.')
    const all = [...positionals.map((each) => each.replace(QUOTE, '')), ...args.slice(cut)]
    if (values['help'] !== true) {
      checkArguments(verb, all)
      // The help of a required option says so.
      const missing = optionsOf(verb).find(
        ([option, help]) => help.endsWith('(required)') && !(parseSpec(option).name in values),
      )
      if (missing)
        throw usageError(
          `Missing option ${missing[0].replace(/\.\.\.$/, '')}.`,
          exampleOf(verb, all),
        )
    }
    const order = tokens.flatMap((token) =>
      token.kind === 'option' && token.value !== undefined
        ? [{ name: token.name, value: token.value.replace(QUOTE, '') }]
        : [],
    )
    return { options: new Options(unquoted(values), order), positionals: all }
  } catch (error) {
    if (error instanceof RetakeError) throw error
    throw unparsed(verb, Object.keys(options), error as NodeJS.ErrnoException)
  }
}

const unquoted = (values: OptionValues): OptionValues =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? value.replace(QUOTE, '') : value,
    ]),
  )

/** An example of a verb, if possible of the same form. */
function exampleOf({ examples }: Verb, given: readonly string[]): string {
  const like = examples.find((each) => each.includes(` ${given[0]} `)) ?? examples[0]
  return `For example: ${like}.`
}

function checkArguments(verb: Verb, given: readonly string[]): void {
  const { arguments: spec, agentFollows = false } = verb
  if (agentFollows && given.length > 0) return
  const isOptional = spec.startsWith('[') && spec.includes(' | ')
  if (isOptional && given.length === 0) return
  const forms = (isOptional ? spec.slice(1, -1) : spec).split(' | ')
  const form = forms.find((each) => !/^\w/.test(each) || each.split(' ')[0] === given[0])
  if (form === undefined)
    throw usageError(
      given[0] === undefined ? 'Missing argument.' : `Unexpected argument "${given[0]}".`,
      `The command takes ${spec}.`,
    )
  const slots = form.match(/<[^>]+>|\[[^\]]+\]|\w+/g) ?? []
  const absent = slots[given.length]
  if (absent !== undefined && !absent.startsWith('['))
    throw usageError(`Missing argument ${absent}.`, exampleOf(verb, given))
  const extra = given[slots.length]
  if (extra !== undefined && !slots.at(-1)?.includes('...'))
    throw usageError(
      `Unexpected argument "${extra}".`,
      verb.tooMany ??
        (spec === '' ? 'The command takes no arguments.' : `The command takes ${spec}.`),
    )
}

function unparsed(
  verb: Verb,
  names: readonly string[],
  { code, message }: NodeJS.ErrnoException,
): RetakeError {
  const [what = message] = message.split(/(?<=\.) |\n/)
  // Node's text for a value that begins with a dash, as in `--node-arg --import=tsx`.
  const [, ambiguous] = /argument is ambiguous[^]*'(--[\w-]+)=-XYZ'/.exec(message) ?? []
  if (ambiguous !== undefined)
    return usageError(
      `Option '${ambiguous}' has no value.`,
      `The next word begins with a dash. If it is the value, write ${ambiguous}=<value>.`,
    )
  if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
    return usageError(what, 'The help shows how to use the option.')
  const typed = /'-*([^']*)'/.exec(message)?.[1] ?? ''
  const close = closestName(typed, names)
  const why = verb.agentFollows
    ? 'Options of the agent go after its file.'
    : 'The command has no such option.'
  return usageError(what, close === undefined ? why : `Did you mean --${close}?`)
}

export const SECONDS = { least: 0.001, most: 86_400, fraction: true }
export const PORT = { most: 65_535 }

export function parseChoice<T extends string>(
  name: string,
  given: string,
  values: readonly T[],
): T {
  const value = values.find((each) => each === given)
  if (value !== undefined) return value
  throw usageError(`"${given}" is not a valid --${name}.`, `Use ${values.join(', ')}.`)
}

export class Options {
  constructor(
    readonly values: OptionValues,
    /** Options with a value, in the order typed. */
    readonly order: readonly { readonly name: string; readonly value: string }[] = [],
  ) {}

  get json(): boolean {
    return this.flag('json')
  }

  has(name: string): boolean {
    return name in this.values
  }

  with(values: OptionValues): Options {
    return new Options({ ...this.values, ...values }, this.order)
  }

  /**
   * Options grouped by the `name` before them, as in `--at 3 --set … --at 7 --set …`; those before
   * the first `name` belong to it. `members`: which options may be repeated in a group.
   */
  groups(name: string, members: Readonly<Record<string, 'one' | 'many'>>): Options[] {
    const groups: Record<string, string | string[]>[] = [{}]
    for (const { name: option, value } of this.order) {
      if (option === name && groups.at(-1)?.[name] !== undefined) groups.push({})
      const group = groups.at(-1) ?? {}
      const before = group[option]
      if (option === name) group[name] = value
      else if (members[option] === 'many')
        group[option] = [...(Array.isArray(before) ? before : []), value]
      else if (members[option] === 'one' && before === undefined) group[option] = value
      else if (members[option] === 'one')
        throw usageError(`--${option} is given twice.`, `Give it only once for each --${name}.`)
    }
    return groups.map((group) => new Options(group))
  }

  flag(name: string): boolean {
    return this.values[name] === true
  }

  text(name: string): string | undefined {
    const value = this.values[name]
    return typeof value === 'string' ? value : undefined
  }

  texts(name: string): string[] {
    const value = this.values[name]
    return Array.isArray(value) ? value.map(String) : []
  }

  /** One of some values. Throws `WRONG_USAGE`. */
  choice<T extends string>(name: string, values: readonly T[]): T | undefined {
    const given = this.text(name)
    return given === undefined ? undefined : parseChoice(name, given, values)
  }

  choices<T extends string>(name: string, values: readonly T[]): T[] {
    return this.texts(name).map((given) => parseChoice(name, given, values))
  }

  /** A number: whole unless `fraction` is set. Throws `WRONG_USAGE`. */
  number(
    name: string,
    { least = 0, most = Number.MAX_SAFE_INTEGER, fraction = false } = {},
  ): number | undefined {
    const given = this.text(name)
    if (given === undefined) return undefined
    const value = Number(given)
    const isOne = fraction ? /^\d*\.?\d+$/.test(given) : /^\d+$/.test(given)
    if (isOne && value >= least && value <= most) return value
    const range = most === Number.MAX_SAFE_INTEGER ? `at least ${least}` : `${least} to ${most}`
    throw usageError(
      `"${given}" is not a valid number for --${name}.`,
      `It must be a ${fraction ? '' : 'whole '}number, ${range}.`,
    )
  }

  jobs(otherwise: number | undefined = availableParallelism()): number {
    return this.number('jobs', { least: 1, most: 256 }) ?? otherwise
  }

  timeoutMs(otherwiseS: number): number {
    return 1000 * (this.number('timeout', SECONDS) ?? otherwiseS)
  }

  /** Epoch milliseconds of an age or a date. Throws `WRONG_USAGE`. */
  time(name: string, now = Date.now()): number | undefined {
    const given = this.text(name)
    if (given === undefined) return undefined
    const age = parseAge(given)
    if (age !== undefined) return now - age
    const date = /^\d{4}-\d\d-\d\d/.test(given) ? Date.parse(given) : NaN
    if (!Number.isNaN(date)) return date
    throw usageError(
      `"${given}" is not a time for --${name}.`,
      'Write an age such as 30m, 12h, 7d or 2w, or a date such as 2026-11-15.',
    )
  }

  /** The variables that `--env NAME=value` sets. Throws `WRONG_USAGE`. */
  variables(): Record<string, string> {
    return Object.fromEntries(
      this.texts('env').map((given) => {
        const at = given.indexOf('=')
        if (at > 0) return [given.slice(0, at), given.slice(at + 1)]
        throw usageError(`"${given}" does not set a variable.`, 'Write it as --env NAME=value.')
      }),
    )
  }

  durability(): { readonly durability?: Durability } {
    const durability = this.choice('durability', ['machine', 'process'])
    return durability === undefined ? {} : { durability }
  }

  get store(): RunStore {
    return new RunStore(this.text('dir'))
  }

  openRun(name: string): Tape {
    return openTape(this.store.find(name))
  }

  /** Prints the result: with `--json` as JSON, otherwise as lines of text. */
  print(data: unknown, lines: (look: Look) => LineParts, indent?: number): void {
    if (this.json) printJson(data, indent)
    else console.log(linesOf(...lines(lookOf(process.stdout))).join('\n'))
  }
}
