import { parseArgs } from 'node:util'
import type { ParseArgsConfig } from 'node:util'
import { closestName } from '@retake/engine/errors'
import { UsageError, wrongUsage } from './errors/command-line.js'

type Options = NonNullable<ParseArgsConfig['options']>
export type OptionValues = Readonly<
  Record<string, string | boolean | (string | boolean)[] | undefined>
>

/** A command as `retake --help` lists it. */
export interface VerbEntry {
  readonly name: string
  /** One line for `retake --help`. */
  readonly summary: string
  /** What it does and needs for that: a command loads no code of the others. */
  load(): Promise<Verb>
}

/** One command of the command line. */
export interface Verb {
  /** What follows the name, for example `<run> [--json]`. */
  readonly usage: string
  /** The rest of `retake <verb> --help`: options and examples. */
  readonly help: string
  readonly options: Options
  /** Text options that may stand without a value, like `--inspect`; they are empty then. */
  readonly valueOptional?: readonly string[]
  /** Everything after the first argument belongs to the agent. */
  readonly agentFollows?: boolean
  /** stdout belongs to the agent: `--json` goes to stderr. */
  readonly stdoutIsAgents?: boolean
  /** Answers with the exit code. */
  run(values: OptionValues, positionals: readonly string[]): Promise<number>
}

const COMMON: Options = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } }

/** Reads the arguments of a verb, or says what is wrong with them. */
export function parseVerb(
  name: string,
  verb: Verb,
  args: readonly string[],
): { values: OptionValues; positionals: string[] } {
  const options = { ...COMMON, ...verb.options }
  const cut = verb.agentFollows ? firstPositional(args, options) : args.length
  try {
    const { values, positionals, tokens } = parseArgs({
      args: args.slice(0, cut).map((arg) => (isBare(verb, arg) ? `${arg}=` : arg)),
      options,
      allowPositionals: true,
      tokens: true,
    })
    refuseRepeated(name, options, tokens)
    return { values, positionals: [...positionals, ...args.slice(cut)] }
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw usageOf(name, verb, options, error as NodeJS.ErrnoException)
  }
}

/** `parseArgs` keeps the last value of an option and drops the others silently. */
function refuseRepeated(
  verb: string,
  options: Options,
  tokens: readonly { readonly kind: string; readonly name?: string }[],
): void {
  const given = new Set<string>()
  for (const { kind, name = '' } of tokens) {
    if (kind !== 'option' || options[name]?.type !== 'string' || options[name].multiple) continue
    if (given.has(name))
      throw wrongUsage(verb, `--${name} is given twice.`, 'The command takes one value for it.')
    given.add(name)
  }
}

const isBare = ({ valueOptional = [] }: Verb, arg: string): boolean =>
  valueOptional.some((name) => arg === `--${name}`)

function usageOf(
  name: string,
  verb: Verb,
  options: Options,
  { code, message }: NodeJS.ErrnoException,
): Error {
  const [what = message] = message.split(/(?<=\.) |\n/)
  if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
    return wrongUsage(name, what, 'The option is used in another way.')
  const typed = /'-*([^']*)'/.exec(message)?.[1] ?? ''
  const close = closestName(typed, Object.keys(options))
  const why = verb.agentFollows
    ? 'Options of the agent go after its file.'
    : 'The command has no such option.'
  return wrongUsage(name, what, close === undefined ? why : `Did you mean --${close}?`)
}

function firstPositional(args: readonly string[], options: Options): number {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  const first = tokens.find(({ kind }) => kind === 'positional' || kind === 'option-terminator')
  return first?.index ?? args.length
}

export const flag = (values: OptionValues, name: string): boolean => values[name] === true

export function text(values: OptionValues, name: string): string | undefined {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}

export function texts(values: OptionValues, name: string): string[] {
  const value = values[name]
  return Array.isArray(value) ? value.map(String) : []
}
