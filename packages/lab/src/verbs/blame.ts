import { DEFAULT_FORKS } from '../search/blame-run.js'
import { namesCauses, plural, PURPOSE_WORDS } from '@retake/tape/present'
import { type Options, usageError, type Verb, PROGRAM_OPTIONS } from '@retake/runner/command-line'
import { printable, printJson, Progress, widthOf, wrap, wrapFacts } from '@retake/runner/terminal'
import type { Tape } from '@retake/tape'
import { blameLines } from '../blame/blame-lines.js'
import {
  type Estimate,
  estimateLine,
  effectLines,
  estimateSearch,
  judgeRecording,
  type BlameSearch,
  searchRun,
} from '../blame/search-run.js'
import { writeFindings } from '../blame/findings.js'
import { prepareSearch, readSearchSettings } from '../blame/read-search.js'
import { checkPriced, confirmCost } from '@retake/runner/command-line'
import { FOUND, Interruption } from '@retake/runner/command-line'
import { ORACLE_OPTIONS } from '@retake/runner/oracle'
import { requireTrust } from '@retake/runner/agent'
import { codeToShow } from '@retake/runner/sources'
import { copyDemo, withDemoRun } from '@retake/runner/demo'

/** Correct output of the refund agent, and correct answer of its tool. */
const DEMO_ORACLE = 'stdout:/DENIED/'
const DEMO_FREE =
  'search_policy=set:text="Customers may return an item within 30 days of delivery."'

export default {
  arguments: '[run]',
  description: `Finds the steps that together made a run fail. Runs the agent many times, each time
with some steps pinned to the recording and the others free, and lets an oracle judge each fork.
Reports the cause, steps that only repeat it, steps that would have made the run fail without it,
and unrelated steps. Without an oracle, Retake suggests one from the exit code or from another run of
the same agent. Steps with effects get recorded answers, unless you add --live-tools. Forks are
stored, so an interrupted search continues where it stopped. Exit code 3 if a cause, a dependence
or a race was found, 1 if not, 0 if the run passes.`,
  options: {
    ...ORACLE_OPTIONS,
    '--free <step=how>...':
      'how to answer a free step: live, neutral, nothing, error, recorded, json:…, @file, set:path=json, run:<run>, script:file; a step is a number, a tool, a kind, or all (default: models and GET requests live, everything else from recordings)',
    '--live-tools [names]':
      'run free tools, processes, MCP calls and requests other than GET for real: all, or --live-tools=a,b',
    '--offline': 'send no requests; refuse to search if a free step would send one',
    '--simulator <file>': 'module that answers free steps instead of a provider',
    '--max-forks <n>': `maximum number of forks (default: ${DEFAULT_FORKS})`,
    '--max-usd <n>': 'maximum cost',
    '--dry-run': 'only print the estimate',
    '--yes': 'spend money without confirmation',
    '--jobs <n>': 'number of forks at a time (default: one per core)',
    '--timeout <s>': 'maximum time for one fork (default: 120)',
    '--seed <n>': 'seed for choosing forks and audits (default: 1)',
    '--evidence': 'also print every experiment and its result',
    '--classic': 'also print the result of changing one step at a time',
    '--spans <step>':
      'also find the words in the request of this model step that mattered, by leaving out parts',
    '--keep': 'keep the tapes of forks, for retake show and diff',
    '--env <NAME=value>...': 'set a variable that differs from the recording; repeatable',
    ...PROGRAM_OPTIONS,
    '--demo': 'instead: record the agent of retake demo and blame that run',
  },
  examples: [
    'retake blame last',
    'retake blame last --expect DENIED',
    `retake blame last --oracle 'stdout:/DENIED/'`,
    'retake blame last --oracle exit:0 --max-usd 2',
    'retake blame last --oracle ./refund-is-right.ts --free search_policy=neutral',
    'retake blame --demo',
  ],
  async run(options, [name]) {
    if (options.flag('demo')) {
      if (name !== undefined) throw usageError('--demo takes no run.', 'It records one itself.')
      const own = ['oracle', 'free', 'simulator'].find((option) => options.has(option))
      if (own !== undefined) throw usageError(`--demo takes no --${own}.`, 'It brings its own.')
      return withDemoRun(copyDemo(), 'demo', (tape) => {
        process.stderr.write(
          `\n$ retake blame last --oracle '${DEMO_ORACLE}' --yes \\\n    --free '${DEMO_FREE}'\n`,
        )
        const given = { oracle: DEMO_ORACLE, free: [DEMO_FREE], yes: true }
        return blameTape(tape, options.with(given))
      })
    }
    if (name === undefined)
      throw usageError('Missing argument <run>.', 'For example: retake blame last.')
    return blameTape(options.openRun(name), options)
  },
} satisfies Verb

async function blameTape(tape: Tape, options: Options): Promise<number> {
  requireTrust(tape)
  using interruption = new Interruption()
  const settings = await readSearchSettings(tape, options)
  using code = codeToShow(tape)
  const search = await prepareSearch(tape, { ...settings, code }, interruption.signal)
  const passing = await judgeRecording(search, interruption.signal)
  interruption.throwIfAny()
  if (passing.verdict === 'pass') {
    const reason = passing.reason
    options.print({ run: tape.run.id, verdict: 'passes', reason, forks: 0 }, () => [
      `nothing to blame: the run passes (${printable(reason)}). No fork was run.`,
    ])
    return 0
  }
  const estimate = estimateSearch(search)
  checkPriced(estimate, search.maxUsd, 'limit the search with --max-forks')
  for (const line of beforehand(search, estimate)) process.stderr.write(`${line}\n`)
  if (options.flag('dry-run')) {
    if (options.json) printJson({ run: tape.run.id, estimate })
    return 0
  }
  if (!options.flag('yes'))
    await confirmCost({
      tokens: estimate.tokens.most,
      ...(estimate.costUsd && { costUsd: estimate.costUsd.most }),
    })
  using progress = new Progress('the unchanged run')
  const found = await searchRun({
    ...search,
    onProgress: ({ forks, remaining, probe }) =>
      progress.say(
        `${plural(forks, 'fork')}, about ${remaining} more · ${PURPOSE_WORDS[probe.purpose]}`,
      ),
    onPause: (ms) =>
      progress.say(`the provider limits the rate: waiting ${Math.ceil(ms / 1000)} s`),
  })
  progress.stop()
  writeFindings(tape.path, found)
  const evidence = options.flag('evidence')
  options.print(found, (look) => blameLines(found, look, { evidence }))
  interruption.throwIfAny()
  const isFound = namesCauses(found.findings) || found.findings.verdict === 'race'
  return isFound ? FOUND : 1
}

function beforehand(search: BlameSearch, estimate: Estimate): string[] {
  const { describe, warnings } = search.interventions
  const { oracle, oracleWhy } = search
  const width = widthOf(process.stderr)
  const chosen = oracleWhy === undefined ? [] : [`oracle: ${oracle.text}, because ${oracleWhy}`]
  const lines = [...chosen, describe, ...warnings, ...effectLines(search, estimate)]
  return [
    ...lines.flatMap((line) => wrap(printable(line), width)),
    ...wrapFacts(estimateLine(estimate, search), width),
  ]
}
