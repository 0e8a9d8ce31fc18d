import {
  ALLOW_SECRETS_OPTION,
  PROGRAM_OPTIONS,
  usageError,
  type Verb,
} from '@retake/runner/command-line'
import { FOUND } from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'
import { givenOracle, ORACLE_OPTIONS, oracleText } from '@retake/runner/oracle'
import { readOutcome } from '@retake/runner/oracle'
import { replayAgent, replayReceipt } from '@retake/runner/agent'
import { fromHere, lookOf, printJson, Progress } from '@retake/runner/terminal'
import { RUNNERS, runnerOfProject, testedCall, writeTest } from '@retake/runner/tests'
import type { Tape } from '@retake/tape'

export default {
  arguments: '<run>',
  description: `Copies the tape into the project and writes a test that replays it, offline and
without keys. The test fails if the agent sends another request or ends differently. Retake replays
the program once before it writes anything, so the new test passes. A tape with what looks like a
secret is refused, because tests are committed.

The test is written for Vitest, Jest or node:test, whichever package.json lists. For a run of
\`record()\` without a stored entry, name the function with --entry and its argument with --input.

For an imported run, Retake writes only a starting point: a test with the input, the tool calls and
the answer as data.`,
  options: {
    '--runner <vitest|jest|node>': 'test runner (default: the one that the project uses)',
    '-o, --out <file>': 'the test file (default: <name>.test.* in test, tests or __tests__)',
    '--name <name>': 'name of the test and of its files (default: the name of the run)',
    '--entry <file#export>': 'for a run of record(): the function that it called',
    '--input <json>': 'for a run of record(): the argument of that function',
    '--force': 'replace files that exist',
    ...ALLOW_SECRETS_OPTION,
    ...ORACLE_OPTIONS,
    ...PROGRAM_OPTIONS,
  },
  examples: [
    'retake test last',
    'retake test last --expect refunded --out test/refund.test.ts',
    `retake test last --entry src/agent.ts#handle --input '"order 1182"'`,
  ],
  async run(options, [name = '']) {
    const settings = {
      runner: options.choice('runner', RUNNERS) ?? runnerOfProject(process.cwd()),
      out: options.text('out'),
      name: options.text('name'),
      force: options.flag('force'),
      allowsSecrets: options.flag('allow-secrets'),
    }
    const { runner } = settings
    const input = options.text('input')
    const tape = options.openRun(name)
    if (tape.details.imported !== undefined) {
      const { test } = writeTest(tape, settings)
      options.print(
        { run: tape.run.id, runner, test, isSkeleton: true },
        ({ paint }) => [
          `${paint('green', 'wrote')} ${paint('bold', fromHere(test))}, the beginning of a test: an imported run cannot be replayed`,
          '  next    call your agent in it and remove `.skip`',
        ],
        2,
      )
      return 0
    }
    const entry = options.text('entry')
    const isFunction = tape.run.scope === 'function'
    if (!isFunction && (entry ?? input) !== undefined)
      throw usageError(
        `Run ${tape.run.id} is that of a program.`,
        'Its entry and arguments are on the tape; leave out --entry and --input.',
      )
    const oracle = oracleText(options)
    if (isFunction && oracle !== undefined)
      throw usageError(
        '--oracle and --expect judge programs.',
        'Edit the assertion in the test instead.',
      )
    const given = await givenOracle(options)
    const { verdict, reason } = given
      ? await given(readOutcome(tape), new AbortController().signal)
      : { verdict: 'pass', reason: '' }
    if (verdict !== 'pass') throw cliErrors.TEST_WOULD_FAIL(tape.run.id, `The oracle: ${reason}.`)
    const call = testedCall(tape, {
      ...(entry !== undefined && { entry }),
      ...(input !== undefined && { json: parseInput(input) }),
    })
    if (tape.details.entry !== undefined && !(await replays(tape, options.json))) return FOUND
    const written = writeTest(tape, { ...settings, oracle, ...(call && { call }) })
    const { error, exitCode = 0 } = readOutcome(tape)
    const hasFailed = error !== undefined || exitCode !== 0
    options.print(
      { run: tape.run.id, runner, ...written },
      ({ paint }) => [
        `${paint('green', 'wrote')} ${paint('bold', fromHere(written.test))} and ${written.tapes.map(fromHere).join(', ')}`,
        `  run it  ${written.command}`,
        hasFailed &&
          oracle === undefined &&
          '  note    the run failed, and the test expects that; rerun the fix and test that run',
      ],
      2,
    )
    return 0
  },
} satisfies Verb

function parseInput(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    throw usageError(`"${text}" is not JSON.`, `For example: --input '"order 1182"'.`)
  }
}

/** True if today's program still matches the tape; otherwise prints the difference. */
async function replays(tape: Tape, json: boolean): Promise<boolean> {
  using progress = new Progress(`replaying ${tape.run.id}`)
  const replayed = await replayAgent(tape, { stdio: 'ignore', compares: 'requests' })
  progress.stop()
  if (replayed.divergences.length === 0) return true
  if (json) printJson({ run: tape.run.id, identical: false, divergences: replayed.divergences }, 2)
  else {
    const lines = replayReceipt(tape, replayed, lookOf(process.stderr))
    process.stderr.write(`${lines.join('\n')}\n  No test was written: it would fail.\n`)
  }
  return false
}
