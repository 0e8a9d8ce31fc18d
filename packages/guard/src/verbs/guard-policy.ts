import { DIR_OPTION, FOUND, type Options, usageError, type Verb } from '@retake/runner/command-line'
import {
  type Look,
  painter,
  plainText,
  plainValue,
  printable,
  printJson,
  tableLines,
  linesOf,
} from '@retake/runner/terminal'
import {
  backTest,
  type ChangedCall,
  type RecordedCall,
  recordedRun,
  recordedRuns,
} from '../policy-files/recorded-calls.js'
import { checkPolicyFile, loadPolicy } from '../policy-files/load-policy.js'
import { type Suggestion, suggestRule } from '../policy-files/suggest-rule.js'
import { policyFileErrors } from '../policy-files/policy-file-errors.js'
import { clipText } from '@retake/tape'
import { stringify } from 'yaml'
import { plural } from '@retake/tape/present'

const callJson = ({ run, step, isNested, tool, args, status }: RecordedCall) => ({
  run,
  step,
  ...(isNested && { isNested }),
  tool,
  args: plainValue(args),
  status,
})

const labelOf = ({ step, isNested }: RecordedCall): string => (isNested ? `${step} (inside)` : step)

function evidenceLines(suggestion: Suggestion): string[] {
  const { blocks, alsoBlocks, passing, evidence, tooBroad } = suggestion
  const paint = painter(process.stderr)
  return linesOf(
    '',
    `${paint('green', 'blocks')}  step ${blocks.step} of run ${blocks.run}: ${blocks.tool}`,
    alsoBlocks.length > 0 &&
      `        and in the same run step ${alsoBlocks.map(labelOf).join(', ')}`,
    passing.runs > 0 &&
      `${paint('green', 'spares')}  all ${plural(passing.calls, 'call')} of ${plural(passing.runs, 'run')} that passed, ${passing.ofTool} of them of this tool`,
    ...evidence.map(
      ({ path, here, passing: there }) =>
        `        ${path}: ${plainText(here)} here, ${there} in runs that passed`,
    ),
    tooBroad.length > 0 && ['', 'Simpler, but too broad:'],
    ...tooBroad.map(
      ({ rule, blocked }) =>
        `  ${JSON.stringify(rule)} blocks ${plural(blocked, 'call')} of runs that passed`,
    ),
    passing.runs === 0 && [
      '',
      'Found no other run that passed, so the rule was not checked against any. Choose a folder of runs with --tapes.',
    ],
  )
}

/** Columns that a narrow terminal omits: verdict, then rule. */
const SPARE = [2, 3]

function section(
  title: string,
  changed: readonly ChangedCall[],
  style: 'red' | 'yellow',
  { paint, width }: Look,
): string[] {
  if (changed.length === 0) return []
  const rows = changed.map(({ call, judgement }) => [
    `  ${call.run}`,
    `${call.isNested ? 'inside ' : ''}step ${call.step}`,
    judgement.verdict,
    judgement.rule ?? 'default',
    printable(`${call.tool}(${clipText(plainText(call.args), 80)})`),
  ])
  return [paint(style, title), ...tableLines(rows, width, SPARE), '']
}

const changedJson = ({ call, judgement }: ChangedCall): unknown => {
  const { verdict, rule, denial } = judgement
  const { status: was, ...recorded } = callJson(call)
  const { code, why, allowed } = denial ?? {}
  return { ...recorded, was, verdict, rule, code, why, allowed }
}

export default {
  arguments: 'check <file> | test <file> | suggest <run>',
  description: `\`check\` reports errors in a policy file, with line and column. With \`--tools\`,
a rule for a tool that is not listed is an error. Exit code 3 if there are errors.

\`test\` applies a policy to every tool call of recorded runs, and lists the calls that it would
newly block or newly allow. It executes nothing. Exit code 3 if there are more of these calls than
--max-blocked and --max-allowed permit.

\`suggest\` finds the smallest rule that blocks one call but no call of the runs that passed, and
shows the evidence.`,
  options: {
    '--tools <names>': 'for check: names of all tools, separated by commas',
    '--tapes <folder>': 'folder of recorded runs (default: .retake/runs)',
    '--max-blocked <n>': 'for test: maximum number of newly blocked calls (default: 0)',
    '--max-allowed <n>': 'for test: maximum number of newly allowed calls (default: 0)',
    '--deny-step <n>': 'for suggest: the step whose call to block',
    ...DIR_OPTION,
  },
  examples: [
    'retake guard policy check policy.yaml --tools refund,send_email',
    'retake guard policy test policy.yaml --tapes test/tapes',
    'retake guard policy suggest last --deny-step 4 --tapes test/tapes',
  ],
  run(options, [what, name = '']) {
    return ACTIONS[what as keyof typeof ACTIONS](name, options)
  },
} satisfies Verb

const ACTIONS = { check, test, suggest }

async function check(file: string, options: Options): Promise<number> {
  const tools = options
    .text('tools')
    ?.split(',')
    .map((each) => each.trim())
  const { policies, problems } = await checkPolicyFile(file, tools)
  const rules = policies.reduce((sum, { rules: own = [] }) => sum + own.length, 0)
  if (options.json) printJson({ file, ok: problems.length === 0, rules, problems })
  else {
    for (const { at, message } of problems) console.log(`${at}  ${message}`)
    const names = policies.map(
      ({ name, rules: own = [] }) => `${name} (${plural(own.length, 'rule')})`,
    )
    process.stderr.write(
      problems.length === 0
        ? `${file} can be used: ${names.join(', ')}\n`
        : `${plural(problems.length, 'problem')}\n`,
    )
  }
  return problems.length === 0 ? 0 : FOUND
}

async function test(file: string, options: Options): Promise<number> {
  const blocked = options.number('max-blocked') ?? 0
  const allowed = options.number('max-allowed') ?? 0
  const policies = await loadPolicy(file)
  const result = backTest(policies, recordedRuns(tapesFolder(options)))
  const newlyBlocked = result.newlyBlocked.map(changedJson)
  const newlyAllowed = result.newlyAllowed.map(changedJson)
  options.print({ ...result, newlyBlocked, newlyAllowed }, (look) => {
    const { runs, calls, newlyBlocked, newlyAllowed } = result
    return [
      ...section('newly blocked', newlyBlocked, 'red', look),
      ...section('newly allowed', newlyAllowed, 'yellow', look),
      `${plural(calls, 'call')} in ${plural(runs, 'run')}: ${newlyBlocked.length} newly blocked, ${newlyAllowed.length} newly allowed`,
    ]
  })
  return newlyBlocked.length > blocked || newlyAllowed.length > allowed ? FOUND : 0
}

function suggest(name: string, options: Options): number {
  const label = options.text('deny-step')
  if (label === undefined)
    throw usageError('Missing option --deny-step <n>.', 'For example: --deny-step 4.')
  const file = options.store.find(name)
  const run = recordedRun(file)
  const steps = run.calls.filter(({ isNested }) => !isNested).map(({ step }) => step)
  if (!steps.includes(label)) throw policyFileErrors.STEP_NOT_A_TOOL_CALL(run.id, label, steps)
  const passing = recordedRuns(tapesFolder(options)).filter(
    ({ id, hasPassed }) => hasPassed && id !== run.id,
  )
  const suggestion = suggestRule(run, label, passing)
  if (suggestion === undefined) throw policyFileErrors.RULE_NOT_FOUND(run.id, label, passing.length)
  const { blocks, alsoBlocks, evidence, ...rest } = suggestion
  if (options.json)
    printJson({
      ...rest,
      blocks: callJson(blocks),
      alsoBlocks: alsoBlocks.map(callJson),
      evidence: evidence.map(({ here, ...each }) => ({ ...each, here: plainValue(here) })),
    })
  else {
    // The rule goes to stdout as YAML, to be pasted into a policy; the evidence goes to stderr.
    console.log(stringify([suggestion.rule]).trimEnd())
    process.stderr.write(`${evidenceLines(suggestion).join('\n')}\n`)
  }
  return 0
}

const tapesFolder = (options: Options): string => options.text('tapes') ?? options.store.folder
