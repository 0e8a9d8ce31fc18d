import { NODE_PROGRAM_OPTIONS, type Verb } from '@retake/runner/command-line'
import path from 'node:path'
import {
  type ObservedRun,
  type ObservedValue,
  type SeparatedRuns,
  separateRuns,
} from '../separate/separate-runs.js'

import { plural } from '@retake/tape/present'
import { attempt } from '@retake/tape/format'
import { ALL_RUNS_OPTIONS, chooseRuns, inspectRuns, type SkippedRun } from '@retake/runner/debug'
import { withProbe } from '@retake/runner/debug'
import { captureStates, readStates, writeStates } from '@retake/runner/debug'
import { cliErrors } from '@retake/runner/errors'
import { RecordedCode } from '@retake/runner/sources'
import type { CapturedState, Tape } from '@retake/tape'
import { ORACLE_OPTIONS } from '@retake/runner/oracle'
import { viewRun } from '@retake/runner/runs'
import { type Look, printable, tableLines } from '@retake/runner/terminal'

const SHOWN = 20
/** Maximum number of inspected parts of one variable, and their maximum depth. */
const LEAVES_MAX = 60
const DEPTH_MAX = 3

export default {
  arguments: '',
  description: `Finds what failed runs have in common that passed runs do not. Replays each
recorded run once, offline, and captures the variables after each step, like \`retake debug snapshot\`.
Then ranks predicates (a value, a bound on a number, a line that ran) by Fisher's exact test,
corrected for the number of predicates.

The result is a correlation, not a cause. Predicates that are true of the same runs are shown as
one.`,
  options: {
    '--variables': 'compare the variables of failed and passed runs',
    '--top <n>': `number of predicates to show (default: ${SHOWN})`,
    ...ALL_RUNS_OPTIONS,
    ...ORACLE_OPTIONS,
    ...NODE_PROGRAM_OPTIONS,
  },
  examples: [
    'retake failures --variables',
    "retake failures --variables --since 7d --oracle 'stdout:/refunded/'",
    'retake failures --variables --json | jq .predicates[0]',
  ],
  async run(options) {
    const top = options.number('top', { least: 1, most: 10_000 }) ?? SHOWN
    const jobs = options.jobs()
    const { runs, skipped } = await chooseRuns(options)
    const decided = runs.filter(({ outcome }) => outcome !== 'undecided')
    for (const outcome of ['failed', 'passed'] as const)
      if (decided.every((run) => run.outcome !== outcome))
        throw cliErrors.NOTHING_TO_SEPARATE(decided.length, outcome)
    let withRecordedCode = 0
    const capture = async (tape: Tape): Promise<readonly CapturedState[]> => {
      using code = RecordedCode.ofChanged(tape)
      if (code !== undefined) withRecordedCode++
      const probe = { nodeArgs: options.texts('node-arg'), code }
      const states = await withProbe(tape, probe, (started) =>
        captureStates(started, viewRun(tape), 1, code),
      )
      writeStates(tape, states)
      return states
    }
    const observed: ObservedRun[] = await inspectRuns(
      decided,
      skipped,
      jobs,
      async ({ tape, outcome }) => {
        // Captured once and stored beside the tape for later commands.
        const states = attempt(() => readStates(tape)) ?? (await capture(tape))
        const frames = states.flatMap((state) => state.frames)
        const values = frames.flatMap(({ location, variables }): ObservedValue[] => {
          const file = path.relative(tape.details.cwd ?? '.', location.file)
          const leaves = variables.flatMap(({ name, json }) =>
            leavesOf(name, json, 0).slice(0, LEAVES_MAX),
          )
          return leaves.map((leaf) => ({ site: `${file}:${location.line}`, ...leaf }))
        })
        return { id: tape.run.id, failed: outcome === 'failed', values }
      },
    )
    if (withRecordedCode > 0)
      process.stderr.write(
        `note  the code has changed since ${plural(withRecordedCode, 'run')}; showing the recorded code\n`,
      )
    const found = separateRuns(observed, top)
    options.print({ ...found, skipped }, (look) => separatedLines(found, skipped, look), 2)
    return found.predicates.some(({ adjustedP }) => adjustedP <= SIGNIFICANT) ? 0 : 1
  },
} satisfies Verb

const SIGNIFICANT = 0.05

function leavesOf(
  name: string,
  value: unknown,
  depth: number,
): Pick<ObservedValue, 'path' | 'value'>[] {
  if (typeof value !== 'object' || value === null) return [{ path: name, value }]
  if (depth >= DEPTH_MAX) return []
  if (Array.isArray(value))
    return [
      { path: `${name}.length`, value: value.length },
      ...value.flatMap((each: unknown, index) => leavesOf(`${name}[${index}]`, each, depth + 1)),
    ]
  // For values that JSON lacks, their text is enough.
  if ('$type' in value) return [{ path: name, value: JSON.stringify(value) }]
  return Object.entries(value).flatMap(([key, each]) => leavesOf(`${name}.${key}`, each, depth + 1))
}

function separatedLines(
  { failed, passed, tested, predicates }: SeparatedRuns,
  skipped: readonly SkippedRun[],
  { paint, width }: Look,
): string[] {
  const rows = predicates.map(
    ({ site, text, failed: inFailed, passed: inPassed, p, adjustedP, alike }) => [
      `${inFailed} of ${failed}`,
      `${inPassed} of ${passed}`,
      p.toExponential(1),
      adjustedP < 0.001 ? '<.001' : adjustedP.toFixed(3).replace(/^0/, ''),
      site,
      printable(`${text || 'ran'}${alike.length > 0 ? ` (and ${alike.length} alike)` : ''}`),
    ],
  )
  const isFound = predicates.some(({ adjustedP }) => adjustedP <= SIGNIFICANT)
  return [
    `${plural(failed, 'failed run')}, ${passed} passed · ${plural(tested, 'different predicate')}${isFound ? '' : ` · ${paint('yellow', 'nothing separates them: more runs may')}`}`,
    '',
    ...tableLines([['failed', 'passed', 'p', 'corrected', 'line', 'predicate'], ...rows], width),
    ...skipped.map(({ run, reason }) => `skipped ${run}: ${printable(reason)}`),
  ]
}
