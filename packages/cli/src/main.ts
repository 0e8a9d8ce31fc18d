import { readFileSync } from 'node:fs'
import { unknownVerb } from './errors.js'
import { WRONG_USAGE } from './exit-codes.js'
import { generalHelp, verbHelp } from './help.js'
import { closestName } from './closest-name.js'
import { errorLines, exitCodeOf, explain } from './print-error.js'
import { parseVerb } from './verb.js'
import type { Verb } from './verb.js'
import { verbs } from './verbs/index.js'

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
    if (first === 'help')
      return print(rest[0] === undefined ? generalHelp() : verbHelp(find(rest[0])))
    const verb = find(first)
    const { values, positionals } = parseVerb(verb, rest)
    if (values['help'] === true) return print(verbHelp(verb))
    return await verb.run(values, positionals)
  } catch (error) {
    const explained = explain(error)
    if (explained === undefined) throw error
    if (asksForJson(args)) console.log(JSON.stringify({ error: explained }))
    else process.stderr.write(errorLines(explained))
    return exitCodeOf(error)
  }
}

function print(text: string, code = 0): number {
  if (code === 0) console.log(text)
  else console.error(text)
  return code
}

function find(name: string): Verb {
  const verb = verbs.find((each) => each.name === name)
  if (verb === undefined)
    throw unknownVerb(
      name,
      closestName(
        name,
        verbs.map((each) => each.name),
      ),
    )
  return verb
}

/** Whether errors should be JSON too. Of `record`, everything after the file is the agent's. */
function asksForJson(args: readonly string[]): boolean {
  return args[0] !== 'record' && args.includes('--json')
}

function version(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
