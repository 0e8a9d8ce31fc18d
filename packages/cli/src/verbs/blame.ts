import { openTape } from '@retake/tape/node'
import type { Step, Tape } from '@retake/tape'
import { cost } from '@retake/tape/present'
import { Interruption } from '../bisect/bisect-run.js'
import { blameLines } from '../blame/blame-lines.js'
import { type Estimate, estimateLine, estimateSearch } from '../blame/estimate.js'
import { type FindingsFile, writeFindings } from '../blame/findings-file.js'
import { FORKS, readSearch } from '../blame/read-search.js'
import { runValidation } from '../blame/validate-blame.js'
import { judgeRecording } from '../blame/check-oracle.js'
import { type Search, searchRun } from '../blame/search-run.js'
import { wrongUsage } from '../errors/command-line.js'
import { FOUND } from '../command-line/exit-codes.js'
import {
  painter,
  printable,
  Progress,
  widthOf,
  wrap,
  wrapFacts,
  printJson,
} from '../terminal/terminal.js'
import { ORACLE_OPTIONS } from '../oracle/make-oracle.js'
import { RunStore } from '../runs/run-store.js'
import { requireTrust, TRUST_OPTION } from '../agent/trust.js'
import { flag, type OptionValues, text, type Verb } from '../command-line/verb.js'
import { Interrupted } from '../agent/agent-process.js'
import { askOnTerminal } from '../terminal/ask-on-terminal.js'
import { startScriptedModel } from '../demo/scripted-model.js'
import { copyShipped } from '../demo/shipped-folder.js'
import { recordAgent } from '../agent/record-agent.js'

/** What the refund agent should have said, and what its tool should have handed out. */
const DEMO_ORACLE = 'stdout:/DENIED/'
const DEMO_FREE =
  'search_policy=set:text="Customers may return an item within 30 days of delivery."'

const MODEL_IS_GONE = `
The scripted model has been stopped: forks of this run that ask it now will fail.
retake demo --open records a run whose model stays at hand.
`

/** Records the refund agent of the demo, and keeps its scripted model at hand: forks ask it live. */
async function withDemoRun(use: (tape: Tape) => Promise<number>): Promise<number> {
  const folder = copyShipped('demo', ['agent.ts', 'shop.json'])
  const model = await startScriptedModel()
  try {
    const entry = folder.pathOf('agent.ts')
    process.stderr.write(`$ retake record ${entry}\n`)
    const recording = await recordAgent({
      store: folder.store,
      entry,
      args: [],
      name: 'demo',
      env: { MODEL_URL: model.url },
      stdio: ['ignore', 'pipe', 'inherit'],
      onOutput: (chunk) => process.stderr.write(chunk),
    })
    if (recording.interruptedBy) throw new Interrupted(recording.interruptedBy)
    process.stderr.write(
      `$ retake blame last --oracle '${DEMO_ORACLE}' \\\n    --free '${DEMO_FREE}'\n`,
    )
    const code = await use(openTape(recording.tape))
    process.stderr.write(MODEL_IS_GONE)
    return code
  } finally {
    await model.stop()
  }
}

export const blame: Verb = {
  usage: '<run> --oracle <check> [options] | --demo | --validate',
  help: `Finds which steps together made a run fail. It runs the agent again and
again, each time with some steps held at what was recorded and the others free,
and asks an oracle whether that fails as well. It names the cause, what only
repeats it, what would have failed without it, and what has nothing to do with
it. Exit code 3 when a cause was found, 1 when none could be named, 0 when the
run passes. Forks are stored: a search that was stopped goes on where it was.

Options:
  --oracle <check>  what passing means: exit:0, stdout:/regex/, json:path=value,
                    a shell command that gets stdout on stdin, a file, a judge;
                    see \`retake docs oracles\`
  --oracle-timeout <s>
                    longest time for a judgement (default: 30; a judge 120)
  --judge-url <url>, --judge-model <name>
                    the model behind --oracle 'judge:…'
  --free <step>=<how>
                    how a free step is answered: live, neutral, nothing, error,
                    json:…, @file, set:path=json, run:<run>, script:file; a step
                    is a number, a tool, a kind, or all (default: live)
  --simulator <file>
                    a module that answers free steps in place of a provider
  --max-forks <n>   run at most this many (default: ${FORKS})
  --max-usd <n>     spend at most this much
  --dry-run         only say what it would take
  --yes             do not ask before money is spent
  --jobs <n>        forks at a time (default: one per core)
  --timeout <s>     longest time for one fork (default: 120)
  --seed <n>        chooses what is audited, and other forks (default: 1)
  --evidence        also every question that was put to forks
  --classic         also what asking about one step at a time would say
  --spans <step>    also which words of what this model step was asked mattered:
                    asked again with parts left out, and live from there
  --keep            keep the tapes of forks, for retake show and diff
  --env NAME=value  a variable that differs from the recorded one; repeatable
  --trust           also start the program of a run from elsewhere
  --dir <folder>    where the tapes are (default: .retake/runs)
  --demo            instead: record the agent of retake demo, and blame that
  --validate        instead: blame agents with known faults, and score that
  --json            what was found as JSON

Examples:
  retake blame last --oracle 'stdout:/DENIED/'
  retake blame last --oracle exit:0 --max-usd 2
  retake blame last --oracle ./refund-is-right.ts --free search_policy=neutral
  retake blame --demo`,
  options: {
    ...TRUST_OPTION,
    ...ORACLE_OPTIONS,
    free: { type: 'string', multiple: true },
    simulator: { type: 'string' },
    'max-forks': { type: 'string' },
    'max-usd': { type: 'string' },
    'dry-run': { type: 'boolean' },
    yes: { type: 'boolean' },
    jobs: { type: 'string' },
    timeout: { type: 'string' },
    seed: { type: 'string' },
    evidence: { type: 'boolean' },
    classic: { type: 'boolean' },
    spans: { type: 'string' },
    validate: { type: 'boolean' },
    demo: { type: 'boolean' },
    keep: { type: 'boolean' },
    env: { type: 'string', multiple: true },
    dir: { type: 'string' },
  },
  async run(values, [name, ...rest]) {
    const takesNone = (['validate', 'demo'] as const).find((option) => flag(values, option))
    if (takesNone !== undefined && name !== undefined)
      throw usage(`--${takesNone} takes no run.`, 'It records its own.')
    const own = (['oracle', 'free', 'simulator'] as const).find((option) => option in values)
    if (takesNone !== undefined && own !== undefined)
      throw usage(`--${takesNone} takes no --${own}.`, 'It brings its own.')
    if (takesNone === 'validate') return runValidation(values)
    if (takesNone === 'demo')
      return withDemoRun((tape) =>
        blameTape(tape, { ...values, oracle: DEMO_ORACLE, free: [DEMO_FREE] }),
      )
    if (name === undefined || rest.length > 0)
      throw usage('Name one run.', "For example: retake blame last --oracle 'stdout:/refunded/'.")
    return blameTape(openTape(new RunStore(text(values, 'dir')).find(name)), values)
  },
}

const usage = (what: string, why: string): Error => wrongUsage('blame', what, why)

async function blameTape(tape: Tape, values: OptionValues): Promise<number> {
  requireTrust(tape)
  const interruption = new Interruption()
  try {
    const search = await readSearch(tape, values, interruption.signal)
    const passing = await judgeRecording(search, interruption.signal)
    interruption.throwIfAny()
    if (passing.verdict === 'pass') return sayPassing(tape, passing.reason, values)
    const estimate = estimateSearch(search.steps, isPaidIn(search))
    if (search.maxUsd !== undefined && estimate.costUsd === undefined)
      throw usage(
        '--max-usd cannot be kept: what a model step costs is not known.',
        'Give its price in retake.config.ts (`retake docs config`), or limit with --max-forks.',
      )
    for (const line of beforehand(search, estimate)) process.stderr.write(`${line}\n`)
    if (flag(values, 'dry-run')) return sayEstimate(tape, estimate, values)
    if (!flag(values, 'yes')) await confirmCost(estimate)
    const found = await withProgress(search)
    writeFindings(tape.path, found)
    print(found, values)
    interruption.throwIfAny()
    return found.findings.verdict === 'attributed' ? FOUND : 1
  } finally {
    interruption.stop()
  }
}

/** Whether a step is asked live when it is free; where there is a simulator, it is taken to answer. */
const isPaidIn = ({ interventions: { live, simulator } }: Search): ((step: Step) => boolean) => {
  const labels = new Set(simulator === undefined ? live : [])
  return ({ label }) => labels.has(label)
}

/** What is said before anything is spent. */
function beforehand(search: Search, estimate: Estimate): string[] {
  const { describe, warnings } = search.interventions
  const width = widthOf(process.stderr)
  return [
    ...[describe, ...warnings].flatMap((line) => wrap(printable(line), width)),
    ...wrapFacts(estimateLine(estimate, search), width),
  ]
}

async function withProgress(search: Search): Promise<FindingsFile> {
  const progress = new Progress('the unchanged run')
  try {
    return await searchRun({
      ...search,
      onProgress: ({ forks, remaining, probe }) =>
        progress.say(`${forks} forks, about ${remaining} more: ${probe.purpose}`),
      onPause: (ms) =>
        progress.say(`the provider limits the rate: waiting ${Math.ceil(ms / 1000)} s`),
    })
  } finally {
    progress.stop()
  }
}

function print(found: FindingsFile, values: OptionValues): void {
  const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
  console.log(
    flag(values, 'json')
      ? JSON.stringify(found)
      : blameLines(found, look, { evidence: flag(values, 'evidence') }).join('\n'),
  )
}

function sayPassing(tape: Tape, reason: string, values: OptionValues): number {
  console.log(
    flag(values, 'json')
      ? JSON.stringify({ run: tape.run.id, verdict: 'passes', reason, forks: 0 })
      : `nothing to blame: the run passes (${printable(reason)}). No fork was run.`,
  )
  return 0
}

function sayEstimate(tape: Tape, estimate: Estimate, values: OptionValues): number {
  if (flag(values, 'json')) printJson({ run: tape.run.id, estimate })
  return 0
}

/** Asks on a terminal before money is spent; elsewhere the limits alone hold. */
async function confirmCost({ costUsd, tokens }: Estimate): Promise<void> {
  const isFree = costUsd === undefined ? tokens === 0 : costUsd === 0
  if (isFree || !process.stdin.isTTY || !process.stderr.isTTY) return
  const price =
    costUsd === undefined
      ? 'This may cost money; how much is not known.'
      : `This may cost about ${cost(costUsd)} or more.`
  const said = await askOnTerminal((ask) => ask(`${price} Go on? [y/N] `))
  if (!/^y/i.test(said)) throw new Interrupted('SIGINT')
}
