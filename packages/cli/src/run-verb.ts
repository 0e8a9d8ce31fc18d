import { closestName } from '@retake/engine/errors'
import { Interrupted } from './agent-process.js'
import { loadConfig } from './config/load-config.js'
import { unknownVerb } from './errors/command-line.js'
import { RunNotTrusted } from './errors/trust.js'
import { verbHelp } from './help.js'
import { errorLines, exitCodeOf, explain } from './print-error.js'
import { signalExitCode } from './signal-exit-code.js'
import { parseVerb } from './verb.js'
import type { VerbEntry } from './verb.js'
import { verbs } from './verbs/index.js'

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
    if (values['trust'] === true) (await import('./trust.js')).trustEverything()
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
      const { askForTrust } = await import('./trust.js')
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
