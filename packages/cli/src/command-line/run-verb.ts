import { closestName } from '@retake/engine/errors'
import {
  errorLines,
  exitCodeOf,
  explainOrThrow,
  findVerb,
  Interrupted,
  ownArguments,
  parseVerb,
  partsOf,
  signalExitCode,
  type Verb,
  verbHelp,
} from '@retake/runner/command-line'
import { loadConfig } from '@retake/runner/load-config'
import { cliErrors, RunNotTrusted } from '@retake/runner/errors'
import { widthOf } from '@retake/runner/terminal'
import { missingCapabilities } from '../verbs/capabilities.js'
import { verbs } from '../verbs/index.js'
import { observeVerb } from './observe-verb.js'

export const runVerb = (args: readonly string[]): Promise<number> =>
  observeVerb(args[0] ?? '', () => runCommand(args))

async function runCommand(words: readonly string[]): Promise<number> {
  // An unknown command has no agent that could own --json.
  let jsonTo: NodeJS.WriteStream | undefined = words.includes('--json') ? process.stdout : undefined
  try {
    const [first = ''] = words
    if (verbs[first] === undefined && closestName(first, Object.keys(verbs)) === undefined) {
      const missing = missingCapabilities()
      if (missing.length > 0) throw cliErrors.CAPABILITY_MISSING(`The command "${first}"`, missing)
    }
    const { name, summary, args, load } = findVerb(verbs, words)
    const help = (verb?: Verb): number => {
      console.log(verbHelp(name, summary, verb, partsOf(verbs, name), widthOf(process.stdout)))
      return 0
    }
    if (load === undefined) return help()
    const { default: verb } = await load()
    const stream = verb.stdoutIsAgents ? process.stderr : process.stdout
    // Until the arguments are parsed, any --json counts that cannot belong to the agent.
    jsonTo = ownArguments(verb, args).includes('--json') ? stream : undefined
    const { options, positionals } = parseVerb(name, verb, args)
    jsonTo = options.json ? stream : undefined
    if (options.flag('help')) return help(verb)
    await loadConfig(process.cwd())
    if (options.flag('trust')) (await import('@retake/runner/agent')).trustEverything()
    return await runTrusted(() => verb.run(options, positionals))
  } catch (error) {
    // Prints an error, as JSON if requested. Bugs in Retake itself keep their stack.
    if (error instanceof Interrupted) return signalExitCode(error.signal)
    const explained = explainOrThrow(error)
    if (jsonTo) jsonTo.write(`${JSON.stringify({ error: explained })}\n`)
    else process.stderr.write(errorLines(explained))
    return exitCodeOf(error)
  }
}

/** Retries once the user trusts a refused run. Verbs check trust before they do anything else. */
async function runTrusted(run: () => number | Promise<number>): Promise<number> {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof RunNotTrusted)) throw error
      // Loaded here, because most commands never need it.
      const { promptForTrust } = await import('@retake/runner/agent')
      if (!(await promptForTrust(error))) throw error
    }
  }
}
