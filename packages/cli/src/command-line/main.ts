import { generalHelp, WRONG_USAGE } from '@retake/runner/command-line'
import { version } from '@retake/runner/package-root'
import { widthOf } from '@retake/runner/terminal'
import { verbs } from '../verbs/index.js'

export async function main(args: readonly string[]): Promise<void> {
  // A closed pipe (`retake list | head`) is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
  process.exitCode = await run(args)
}

/** Version and general help load no code of a command. */
async function run(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  if (first === undefined) {
    console.error(FIRST_STEPS)
    return WRONG_USAGE
  }
  if (/^(--version|-v|-V)$/.test(first)) console.log(version())
  else if (/^(--help|-h)$/.test(first) || (first === 'help' && rest[0] === undefined))
    console.log(generalHelp(verbs, widthOf(process.stdout)))
  else {
    const { runVerb } = await import('./run-verb.js')
    return runVerb(first === 'help' ? [...rest, '--help'] : args)
  }
  return 0
}

const FIRST_STEPS = `Retake records AI agents, replays them offline, and finds what went wrong.

See it work, without an API key:
  npx retake demo

Record your own agent:
  npx retake record agent.ts             TypeScript or JavaScript
  npx retake record -- python agent.py   any other language

Then:
  npx retake show last     steps, tokens, cost and output of the run
  npx retake replay last   run it again, offline and identical
  npx retake ui            look inside and change a step, in the browser

In a server, record each request: npx retake docs library
All commands: npx retake --help`
