import { writeSuggestion } from '../policy/suggestion-lines.js'
import { backTest } from '../policy/back-test.js'
import { backTestJson, backTestLines } from '../policy/back-test-lines.js'
import { checkPolicyFile, loadPolicy } from '../policy/load-policy.js'
import { recordedRun, recordedRuns } from '../policy/recorded-calls.js'
import { suggestRule } from '../policy/suggest-rule.js'
import { wrongUsage } from '../errors/command-line.js'
import { noSuchToolStep, ruleNotFound } from '../errors/guard.js'
import { FOUND } from '../exit-codes.js'
import { plural } from '../facts.js'
import { RunStore } from '../run-store.js'
import { painter, widthOf } from '../terminal.js'
import { flag, text } from '../verb.js'
import type { OptionValues, Verb } from '../verb.js'

export const policy: Verb = {
  usage: 'check <file> | test <file> [options] | suggest <run> --deny-step <n>',
  help: `check     says whether a policy file can be used, and where it cannot.
test      judges every tool call of recorded runs, and lists those that the
          policy would newly block or newly allow. Nothing is run. Exit code 3
          when there are more than allowed.
suggest   finds the smallest rule that blocks one call and no call of the
          runs that passed, and shows what speaks for it.

Options:
  --tapes <folder>    the recorded runs (default: .retake/runs)
  --max-blocked <n>   how many calls may be newly blocked (default: 0)
  --max-allowed <n>   how many calls may be newly allowed (default: 0)
  --deny-step <n>     the step of the call to block
  --dir <folder>      where the run is (default: .retake/runs)
  --json              the result as JSON

Examples:
  retake policy check policy.yaml
  retake policy test policy.yaml --tapes test/tapes
  retake policy suggest last --deny-step 4 --tapes test/tapes`,
  options: {
    tapes: { type: 'string' },
    'max-blocked': { type: 'string' },
    'max-allowed': { type: 'string' },
    'deny-step': { type: 'string' },
    dir: { type: 'string' },
  },
  run(values, [what, name, ...rest]) {
    const does = what === undefined ? undefined : ACTIONS[what]
    if (does === undefined)
      throw wrongUsage(
        'policy',
        what === undefined ? 'Say what to do.' : `"${what}" is nothing it can do.`,
        'It can check, test and suggest.',
      )
    if (name === undefined || rest.length > 0)
      throw wrongUsage(
        'policy',
        `\`retake policy ${what}\` takes one name.`,
        NAMES[what ?? ''] ?? '',
      )
    return does(name, values)
  },
}

const ACTIONS: Readonly<Record<string, (name: string, values: OptionValues) => Promise<number>>> = {
  check,
  test,
  suggest,
}
const NAMES: Readonly<Record<string, string>> = {
  check: 'Name a policy file.',
  test: 'Name a policy file.',
  suggest: 'Name a run.',
}

async function check(file: string, values: OptionValues): Promise<number> {
  const { policies, problems } = await checkPolicyFile(file)
  const rules = policies.reduce((sum, { rules: own = [] }) => sum + own.length, 0)
  if (flag(values, 'json'))
    console.log(JSON.stringify({ file, ok: problems.length === 0, rules, problems }))
  else {
    for (const { place, message } of problems) console.log(`${place}  ${message}`)
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

async function test(file: string, values: OptionValues): Promise<number> {
  const [blocked, allowed] = [most(values, 'max-blocked'), most(values, 'max-allowed')]
  const policies = await loadPolicy(file)
  const result = backTest(policies, recordedRuns(tapesFolder(values)))
  if (flag(values, 'json')) console.log(JSON.stringify(backTestJson(result)))
  else {
    const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
    console.log(backTestLines(result, look).join('\n'))
  }
  const isOver = result.newlyBlocked.length > blocked || result.newlyAllowed.length > allowed
  return isOver ? FOUND : 0
}

function suggest(name: string, values: OptionValues): Promise<number> {
  const label = text(values, 'deny-step')
  if (label === undefined)
    throw wrongUsage('policy', 'Say which call to block.', 'For example: --deny-step 4.')
  const file = new RunStore(text(values, 'dir')).find(name)
  const run = recordedRun(file)
  const steps = run.calls.filter(({ isNested }) => !isNested).map(({ step }) => step)
  if (!steps.includes(label)) throw noSuchToolStep(run.id, label, steps)
  const passing = recordedRuns(tapesFolder(values)).filter(
    ({ id, hasPassed }) => hasPassed && id !== run.id,
  )
  const suggestion = suggestRule(run, label, passing)
  if (suggestion === undefined) throw ruleNotFound(run.id, label, passing.length)
  writeSuggestion(suggestion, flag(values, 'json'))
  return Promise.resolve(0)
}

const tapesFolder = (values: OptionValues): string =>
  text(values, 'tapes') ?? new RunStore(text(values, 'dir')).folder

function most(values: OptionValues, name: string): number {
  const given = text(values, name)
  if (given === undefined) return 0
  if (/^\d+$/.test(given)) return Number(given)
  throw wrongUsage('policy', `--${name} is a whole number, not "${given}".`, 'It counts calls.')
}
