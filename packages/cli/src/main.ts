import { closestName } from '@retake/engine'
import { Interrupted } from './agent-process.js'
import { loadConfig } from './config/load-config.js'
import { unknownVerb } from './errors.js'
import { WRONG_USAGE } from './exit-codes.js'
import { generalHelp, verbHelp } from './help.js'
import { errorLines, exitCodeOf, explain } from './print-error.js'
import { signalExitCode } from './signal-exit-code.js'
import { parseVerb } from './verb.js'
import type { Verb } from './verb.js'
import { verbs } from './verbs/index.js'
import { version } from './version.js'

/** Runs one command line and leaves its exit code in `process.exitCode`. */
export async function main(args: readonly string[]): Promise<void> {
  // A reader that went away (`retake list | head`) is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
  process.exitCode = await run(args)
}

async function run(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  try {
    if (first === '--version' || first === '-v' || first === '-V') return print(version())
    if (first === undefined) return print(generalHelp(), WRONG_USAGE)
    if (first === '--help' || first === '-h') return print(generalHelp())
    if (first === 'help') {
      return print(rest[0] === undefined ? generalHelp() : verbHelp(find(rest[0])))
    }
    return await runVerb(find(first), rest)
  } catch (error) {
    return fail(error)
  }
}

async function runVerb(verb: Verb, args: readonly string[]): Promise<number> {
  // Until the arguments are understood, any --json counts that cannot be the agent's.
  let json = verb.agentFollows !== true && args.includes('--json')
  try {
    const { values, positionals } = parseVerb(verb, args)
    json = values['json'] === true
    if (values['help'] === true) return print(verbHelp(verb))
    await loadConfig(process.cwd())
    return await verb.run(values, positionals)
  } catch (error) {
    return fail(error, json ? (verb.stdoutIsAgents ? process.stderr : process.stdout) : undefined)
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

function print(text: string, code = 0): number {
  if (code === 0) console.log(text)
  else console.error(text)
  return code
}

function find(name: string): Verb {
  const verb = verbs.find((each) => each.name === name)
  if (verb !== undefined) return verb
  const names = verbs.map((each) => each.name)
  throw unknownVerb(name, closestName(name, names))
}
