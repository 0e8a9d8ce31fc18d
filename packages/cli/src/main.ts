import { WRONG_USAGE } from './command-line/exit-codes.js'
import { generalHelp } from './command-line/help.js'
import { version } from './command-line/version.js'

/** Runs one command line and leaves its exit code in `process.exitCode`. */
export async function main(args: readonly string[]): Promise<void> {
  // A reader that went away (`retake list | head`) is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
  process.exitCode = await run(args)
}

/** What needs no code of a command is answered at once. */
async function run(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  if (first === '--version' || first === '-v' || first === '-V') return print(version())
  if (first === undefined) return print(generalHelp(), WRONG_USAGE)
  if (first === '--help' || first === '-h') return print(generalHelp())
  if (first === 'help' && rest[0] === undefined) return print(generalHelp())
  const { runVerb, explainVerb } = await import('./command-line/verb.js')
  return first === 'help' ? explainVerb(rest[0] ?? '') : runVerb(first, rest)
}

function print(text: string, code = 0): number {
  if (code === 0) console.log(text)
  else console.error(text)
  return code
}
