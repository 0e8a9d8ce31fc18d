import { tapesOf, writeOrReport } from '@retake/runner/verify'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Claim } from '../proof/claims.js'
import type { FixResult, JudgedFix } from '../proof/prove-fixes.js'
import type { Tape, AppliedFixView } from '@retake/tape'
import { cost } from '@retake/tape/present'
import { sandboxMissing } from '@retake/runner/sandbox'
import { confirmCost } from '@retake/runner/command-line'
import { Interruption, NOT_TRIED } from '@retake/runner/command-line'
import {
  NODE_PROGRAM_OPTIONS,
  type Options,
  usageError,
  type Verb,
} from '@retake/runner/command-line'
import { project } from '@retake/runner/config'
import { copyDemo, DEMO_AGENT, withDemoRun } from '@retake/runner/demo'
import { cliErrors } from '@retake/runner/errors'
import { FixAuthor, fixEndpoint } from '../fix/fix-author.js'
import { AppliedFixes, dirtyFiles, mayAutoApply } from '../fix/apply-fix.js'
import { clusterStore } from '../fix/clusters.js'
import { bestFix, fixLines, pairLines, patchText, pullRequestText } from '../fix/fix-card.js'
import { type FixOutcome, fixRun, type FixSettings } from '../fix/fix-run.js'
import { AgentProject } from '../fix/project-copy.js'
import { storeOutcome } from '../fix/stored-fix.js'
import { applyFix } from '../fix/regression-test.js'
import { givenOracle, ORACLE_OPTIONS, readOutcome } from '@retake/runner/oracle'
import { RunStore } from '@retake/runner/runs'
import { type Look, lookOf, printable, Progress, promptOnTerminal } from '@retake/runner/terminal'

const TIMEOUT_S = 120

export default {
  arguments: '[run]',
  description: `Reproduces the failure, proposes small changes to the agent's source, and tries each
of them in a copy of the project: the recorded run must pass with it and fail without it. Recorded
requests are served; requests that a fix changes go to the model, unless --offline is set.

--oracle decides what counts as a failure; by default, an exception or a nonzero exit code does.
With --model, a model writes fixes where no rule helps; its code runs in a sandbox. Your project
does not change unless you add --apply. After an interruption, run the command again to continue.

Exit code 0 if passing runs that --oracle judges still pass, too (proven), or the run passes; 6 if
other failed runs, or variants of this one, pass with a fix; 7 if only this run does; 8 if a change
drops data or skips work (workaround); 5 if fixes could not be tried because there is no sandbox;
otherwise 1. With --demo, every fix ends with 0.`,
  options: {
    ...ORACLE_OPTIONS,
    '--step <n>': 'propose only fixes for this step',
    '--no-ai': 'use only rules, no model',
    '--model <name>': 'let this model write fixes where no rule helps',
    '--api-key <key>':
      'API key of the model (default: OPENAI_API_KEY, ANTHROPIC_API_KEY or GROQ_API_KEY, also from .env)',
    '--model-url <url>': 'base URL of a model with an OpenAI-compatible chat completions API',
    '--corpus <folder>':
      'passing tapes that must not break (default: passing runs of the same program)',
    '--sibling <run>...':
      'another failed run that the fix must repair; repeatable (default: runs of the same cluster)',
    '--opposite <run>...': 'a run, or a folder of runs, whose verdict must not change; repeatable',
    '--cluster <id>':
      'fix the newest run of this cluster of `retake failures`, and check the fix on the others',
    '--offline': 'send no requests; fixes that change a request stay unproven',
    '--no-locate': 'do not search for the cause',
    '--budget <limit>': 'maximum number of trials, or maximum cost as $0.50',
    '--apply': 'apply the best fix and write a regression test',
    '--no-test': 'do not write the regression test',
    '--undo': 'instead: undo the fix that was applied last',
    '--history': 'instead: list the fixes that were applied and undone',
    '--dry-run': 'only reproduce the failure, and print which fixes would be tried',
    '--force': 'apply to files with uncommitted changes, and despite the circuit breaker',
    '--yes': 'spend money and apply without confirmation',
    '--no-sandbox':
      'if there is no bubblewrap, or it does not know the address of a request, run fixes without a sandbox, also tools that they change and code that a model wrote',
    '--fresh': 'do not reuse trials of earlier commands',
    '--timeout <s>': `maximum time for one trial (default: ${TIMEOUT_S})`,
    '--jobs <n>': 'number of live trials and passing runs at a time (default: one per core)',
    '--pull-request <file>': 'also write the description of a pull request to this file',
    '--patch <file>': 'also write the best fix to this file, for `git apply`',
    '--pairs <file>': 'also write pairs of wrong and fixed code to this file, as JSON lines',
    '--env <NAME=value>...': 'set a variable that differs from the recording; repeatable',
    ...NODE_PROGRAM_OPTIONS,
    '--demo': 'instead: record the agent of retake demo and fix its bug',
  },
  examples: [
    'retake fix last',
    'retake fix last --no-ai --oracle exit:0',
    "retake fix last --oracle 'stdout:/refunded/' --model gpt-5 --budget '$1'",
    'retake fix last --apply',
    'retake fix --undo',
    'retake fix --demo',
  ],
  async run(options, [name]) {
    const instead = (['undo', 'history', 'demo', 'cluster'] as const).find((each) =>
      options.has(each),
    )
    if (instead !== undefined && name !== undefined)
      throw usageError(`--${instead} takes no run.`, 'Leave out one of them.')
    const here = new AppliedFixes(options.store.folder)
    const recovered = here.recover()
    if (recovered !== undefined)
      process.stderr.write(`an interrupted change to your files was ${recovered}\n`)
    if (instead === 'undo') {
      const { id, title, edits } = here.undo({ force: options.flag('force') })
      const files = edits.map((edit) => edit.path)
      options.print({ undone: id, title, files }, ({ paint }) => [
        `${paint('green', 'undone')}  ${printable(title)} (${files.join(', ')})`,
      ])
      return 0
    }
    if (instead === 'history') {
      const audit = here.audit()
      options.print({ audit, applied: here.applied().map(({ id }) => id) }, () =>
        audit.length === 0
          ? ['No fix was applied in this project.']
          : audit.map(
              ({ at, action, title, files, by, why }) =>
                `${at}  ${action.padEnd(9)}  ${printable(title)} (${files.join(', ')}), by ${by}${why === undefined ? '' : `: ${why}`}`,
            ),
      )
      return 0
    }
    if (instead === 'demo') return fixDemo(options)
    const cluster = options.text('cluster')
    if (cluster !== undefined) return fixCluster(cluster, options)
    if (name === undefined)
      throw usageError('Missing argument <run>.', 'For example: retake fix last.')
    return fixTape(options.openRun(name), options)
  },
} satisfies Verb

/** Records the refund agent in its own project, and fixes it there. */
async function fixDemo(options: Options): Promise<number> {
  process.chdir(path.dirname(copyDemo().pathOf(DEMO_AGENT)))
  writeFileSync('package.json', '{ "private": true, "type": "module" }\n')
  const store = new RunStore()
  store.prepare()
  process.stderr.write(`$ cd ${process.cwd()}\n`)
  return withDemoRun({ store, pathOf: (file) => file }, 'refund', async (tape) => {
    const flags = ['no-ai', 'no-locate', 'apply', 'yes', 'force']
    // Only for the demo, whose code comes with Retake.
    if (sandboxMissing() !== undefined) flags.push('no-sandbox')
    process.stderr.write(
      `
The refund is wrong: the window has been 30 days since March.
$ retake fix last --oracle '${DEMO_ORACLE}' \\
    ${flags.map((flag) => `--${flag}`).join(' ')}\n\n`,
    )
    const given = Object.fromEntries(flags.map((flag) => [flag, true]))
    const code = await fixTape(tape, options.with({ oracle: DEMO_ORACLE, ...given }))
    // The demo shows what it should, although one run cannot prove a fix.
    return Object.values(CLAIM_EXIT_CODES).includes(code) ? 0 : code
  })
}

const DEMO_ORACLE = 'stdout:/DENIED/'

async function fixTape(tape: Tape, options: Options): Promise<number> {
  const policy = project().fix.policy ?? 'suggest'
  if (policy === 'observe' && options.flag('apply')) throw cliErrors.FIX_POLICY_OBSERVES()
  using interruption = new Interruption()
  using progress = new Progress()
  try {
    const settings = await readFixSettings(tape, options, {
      signal: interruption.signal,
      onProgress: (text) => progress.say(text),
      onNote: (text) => {
        progress.stop()
        process.stderr.write(`${printable(text)}\n`)
      },
    })
    const outcome = await fixRun(tape, settings)
    interruption.throwIfAny()
    progress.stop()
    storeOutcome(tape, outcome)
    writeReports(outcome, options)
    const best = bestFix(outcome.result)
    const applied =
      best === undefined || options.flag('dry-run')
        ? undefined
        : await applyBest(tape, best, outcome, options)
    options.print(
      { ...outcome, ...(applied && { applied }) },
      (look) => [
        ...fixLines(outcome, look, { isApplied: applied !== undefined }),
        ...appliedLines(applied, look),
      ],
      2,
    )
    return exitCodeOf(outcome.result)
  } catch (error) {
    interruption.throwIfAny()
    throw error
  }
}

/** Exit codes by claim; the first ones are those of every command. */
const CLAIM_EXIT_CODES: Readonly<Record<Claim, number>> = {
  proven: 0,
  'this-kind': 6,
  'this-run': 7,
}
const ONLY_WORKAROUND = 8

function exitCodeOf({ status, claim }: FixResult): number {
  if (status === 'passing') return 0
  if (status === 'workaround') return ONLY_WORKAROUND
  if (status === 'repaired' && claim !== undefined) return CLAIM_EXIT_CODES[claim]
  return status === 'untried' ? NOT_TRIED : 1
}

async function readFixSettings(
  tape: Tape,
  options: Options,
  listeners: Pick<FixSettings, 'signal' | 'onProgress' | 'onNote'>,
): Promise<FixSettings> {
  const { fix, oracle: configured } = project()
  const budget = readBudget(options.text('budget'))
  const maxUsd = budget.maxUsd ?? fix.maxUsd
  const maxForks = budget.maxForks ?? fix.maxForks
  if (options.flag('no-ai') && (options.has('model') || options.has('api-key')))
    throw usageError('--no-ai and --model exclude each other.', 'Leave out one of them.')
  const endpoint = options.flag('no-ai')
    ? undefined
    : fixEndpoint({
        model: options.text('model'),
        url: options.text('model-url'),
        apiKey: options.text('api-key'),
        folder: process.cwd(),
      })
  const { store } = options
  const files = (option: string): string[] =>
    options.texts(option).flatMap((each) => tapesOf(each, store))
  const corpus = options.text('corpus')
  const isException = readOutcome(tape).error !== undefined
  return {
    ...listeners,
    oracle: await givenOracle(options, tape, configured),
    store,
    corpus: corpus === undefined ? undefined : tapesOf(corpus, store),
    siblings: options.has('sibling') ? files('sibling') : undefined,
    opposites: files('opposite'),
    step: options.text('step'),
    author: endpoint && new FixAuthor(endpoint, listeners.signal),
    offline: options.flag('offline'),
    // The stack of an exception already shows its location.
    locate: !options.flag('no-locate') && !options.flag('offline') && !isException,
    observeOnly: (fix.policy ?? 'suggest') === 'observe' || options.flag('dry-run'),
    allowsUnconfined: options.flag('no-sandbox'),
    maxForks,
    maxUsd,
    timeoutMs: options.timeoutMs(TIMEOUT_S),
    jobs: options.jobs(),
    fresh: options.flag('fresh'),
    savesTape: !options.flag('no-test') && !options.flag('dry-run'),
    env: options.variables(),
    nodeArgs: options.texts('node-arg'),
    confirmUnconfined: (why) => confirmUnconfined(why, listeners.onNote),
    confirmSearch: async (estimate) => {
      if (!options.flag('yes')) await confirmCost(estimate)
    },
    confirm: async (estimate) => {
      const price =
        estimate.costUsd === undefined ? 'cost unknown' : `about ${cost(estimate.costUsd) || '$0'}`
      listeners.onNote(
        `some trials send requests to the model: ${price} and ${estimate.tokens} tokens each`,
      )
      if (!options.flag('yes')) await confirmCost(estimate)
    },
  }
}

/** Without a terminal, the answer is no. */
async function confirmUnconfined(why: string, onNote: (text: string) => void): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false
  onNote(`Trials of this fix have no sandbox: ${why}. They run in a copy of the project.`)
  const answer = await promptOnTerminal((prompt) => prompt('Run them without a sandbox? [y/N] '))
  return /^y/i.test(answer)
}

/** `200` trials, or `$0.50`. */
function readBudget(text: string | undefined): { maxForks?: number; maxUsd?: number } {
  if (text === undefined) return {}
  const [, usd, forks] = /^\$(\d*\.?\d+)$|^(\d+)$/.exec(text) ?? []
  const value = Number(usd ?? forks ?? 0)
  if (value > 0) return usd === undefined ? { maxForks: value } : { maxUsd: value }
  throw usageError(
    `"${text}" is not a budget.`,
    "It must be more than 0: a number of trials such as 200, or dollars such as '$0.50'.",
  )
}

/** Applies the best fix if the policy, the options and the user allow it. */
async function applyBest(
  tape: Tape,
  best: JudgedFix,
  outcome: FixOutcome,
  options: Options,
): Promise<AppliedFixView | undefined> {
  const policy = project().fix.policy ?? 'suggest'
  const isTerminal = process.stdin.isTTY && process.stderr.isTTY
  const isRequested =
    options.flag('apply') || (isTerminal && (policy === 'apply' || policy === 'auto'))
  const isAutomatic = policy === 'auto' && mayAutoApply(best) && !options.flag('apply')
  if (!isRequested && !isAutomatic) return undefined
  const { folder } = new AgentProject(tape)
  const dirty = options.flag('force') ? [] : await dirtyFiles(folder, best.candidate.edits)
  if (dirty.length > 0 && !isTerminal) throw cliErrors.FIX_DIRTY(dirty)
  if (dirty.length > 0 || !(isAutomatic || options.flag('yes'))) {
    if (!isTerminal) throw cliErrors.FIX_NOT_APPROVED()
    process.stderr.write(`${fixLines(outcome, lookOf(process.stderr)).join('\n')}\n`)
    const files = dirty.length === 0 ? '' : ` on top of uncommitted changes in ${dirty.join(', ')}`
    const said = await promptOnTerminal((prompt) => prompt(`Apply this fix${files}? [y/N] `))
    if (!/^y/i.test(said)) return undefined
  }
  return applyFix(tape, best, outcome, new AppliedFixes(options.store.folder), {
    by: isAutomatic ? 'policy' : 'user',
    force: options.flag('force'),
    writesTest: !options.flag('no-test'),
  })
}

function appliedLines(applied: AppliedFixView | undefined, { paint }: Look): string[] {
  if (applied === undefined) return []
  const { files, test, command, noTest } = applied
  return [
    `  ${paint('green', 'applied')}  ${files.join(', ')}`,
    ...(test === undefined ? [] : [`  test     ${test} (${command})`]),
    ...(noTest === undefined ? [] : [`  no test  ${printable(noTest)}`]),
    '  undo     retake fix --undo',
  ]
}

function writeReports(outcome: FixOutcome, options: Options): void {
  for (const [option, text] of [
    ['pull-request', pullRequestText],
    ['patch', patchText],
    ['pairs', pairLines],
  ] as const) {
    const file = options.text(option)
    const report = text(outcome)
    // Without a fix there is nothing to write, and an empty patch would look like one.
    if (file === undefined || report === '') continue
    writeOrReport(file, () => {
      mkdirSync(path.dirname(path.resolve(file)), { recursive: true })
      writeFileSync(file, report)
    })
  }
}

function fixCluster(id: string, options: Options): Promise<number> {
  const clusters = clusterStore(options.store, undefined)
  const cluster = clusters.find((each) => each.id.startsWith(id))
  if (cluster === undefined)
    throw cliErrors.FIX_UNKNOWN_CLUSTER(
      id,
      clusters.map((each) => each.id),
    )
  const [newest, ...others] = cluster.runs
  if (newest === undefined) throw cliErrors.FIX_UNKNOWN_CLUSTER(id, [])
  const sibling = options.has('sibling') ? options.texts('sibling') : others.map(({ tape }) => tape)
  return fixTape(options.openRun(newest.id), options.with({ sibling }))
}
