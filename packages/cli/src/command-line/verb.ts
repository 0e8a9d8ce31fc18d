import { parseArgs, type ParseArgsConfig } from 'node:util'
import { closestName } from '@retake/engine/errors'
import { unknownVerb, UsageError, wrongUsage } from '../errors/command-line.js'
import { Interrupted } from '../agent/agent-process.js'
import { loadConfig } from '../config/load-config.js'
import { RunNotTrusted } from '../errors/trust.js'
import { verbHelp } from './help.js'
import { errorLines, exitCodeOf, explain } from './print-error.js'
import { signalExitCode } from './exit-codes.js'
import { verbs } from '../verbs/index.js'

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

/** Runs the command of that name; answers with its exit code. */
export async function runVerb(name: string, args: readonly string[]): Promise<number> {
  let jsonTo: NodeJS.WriteStream | undefined
  try {
    // A command that is not there has no agent whose --json it could be.
    if (args.includes('--json')) jsonTo = process.stdout
    const entry = find(name)
    const verb = await entry.load()
    const stream = verb.stdoutIsAgents ? process.stderr : process.stdout
    // Until the arguments are understood, any --json counts that cannot be the agent's.
    jsonTo = verb.agentFollows !== true && args.includes('--json') ? stream : undefined
    const { values, positionals } = parseVerb(name, verb, args)
    jsonTo = values['json'] === true ? stream : undefined
    if (values['help'] === true) {
      console.log(verbHelp(entry, verb))
      return 0
    }
    await loadConfig(process.cwd())
    if (values['trust'] === true) (await import('../agent/trust.js')).trustEverything()
    return await runTrusted(() => verb.run(values, positionals))
  } catch (error) {
    return fail(error, jsonTo)
  }
}

/** Retries when the user allows a refused run. Verbs check trust before they do anything else. */
async function runTrusted(run: () => Promise<number>): Promise<number> {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof RunNotTrusted)) throw error
      // Loaded here, because most commands never need it.
      const { askForTrust } = await import('../agent/trust.js')
      if (!(await askForTrust(error))) throw error
    }
  }
}

/** `retake help <command>`. */
export async function explainVerb(name: string): Promise<number> {
  try {
    const entry = find(name)
    console.log(verbHelp(entry, await entry.load()))
    return 0
  } catch (error) {
    return fail(error)
  }
}

/** Says what went wrong, as JSON where that was asked for. A mistake in Retake itself keeps its stack. */
function fail(error: unknown, jsonTo?: NodeJS.WriteStream): number {
  if (error instanceof Interrupted) return signalExitCode(error.signal)
  const explained = explain(error)
  if (explained === undefined) throw error
  if (jsonTo) jsonTo.write(`${JSON.stringify({ error: explained })}\n`)
  else process.stderr.write(errorLines(explained))
  return exitCodeOf(error)
}

function find(name: string): VerbEntry {
  const verb = verbs.find((each) => each.name === name)
  if (verb !== undefined) return verb
  const names = verbs.map((each) => each.name)
  throw unknownVerb(name, closestName(name, names))
}
