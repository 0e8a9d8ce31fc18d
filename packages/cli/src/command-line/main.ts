import { WRONG_USAGE } from '@retake/runner/command-line'
import { version } from '@retake/runner/package-root'
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
    console.log(generalHelp())
  else {
    const { runVerb } = await import('./run-verb.js')
    return first === 'help' ? runVerb(rest[0] ?? '', ['--help']) : runVerb(first, rest)
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

function generalHelp(): string {
  const width = Math.max(...Object.keys(verbs).map((name) => name.length))
  return `Retake: a flight recorder for AI agents

usage: retake <command> [options]

${Object.entries(verbs)
  .map(([name, [summary]]) => `  ${name.padEnd(width)}  ${summary}`)
  .join('\n')}

<run> is an id, the first characters of an id, the path of a tape, \`last\`,
\`last~1\` (the run before the last one) or \`last:failed\`.
Results go to stdout, everything else to stderr. --json works everywhere.
Exit codes: 0 success, 1 failure, 2 wrong usage, 3 the command found something
(such as a difference), 4 credentials missing, 5 not tried because a sandbox is
missing, 130 interrupted.

\`retake <command> --help\` explains a command and shows examples. \`retake docs\`
prints the documentation and explains error codes.`
}
