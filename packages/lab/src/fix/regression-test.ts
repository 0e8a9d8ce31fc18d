import type { JudgedFix } from '../proof/prove-fixes.js'
import type { Tape, AppliedFixView } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { replayAgent, trustInThisProcess, entryOf, movedHere } from '@retake/runner/agent'
import { explain } from '@retake/runner/command-line'
import { replayProgram, runnerOfProject, testedCall, writeTest } from '@retake/runner/tests'
import { fromHere } from '@retake/runner/terminal'
import type { AppliedFixes } from './apply-fix.js'
import type { FixOutcome } from './fix-run.js'
import { AgentProject } from './project-copy.js'
import { existsSync } from 'node:fs'
import path from 'node:path'

/**
 * Writes the files of a proven fix and its regression test. The caller must have the consent of a
 * person, or of the policy.
 */
export async function applyFix(
  tape: Tape,
  { candidate }: JudgedFix,
  outcome: FixOutcome,
  fixes: AppliedFixes,
  options: {
    readonly by: 'user' | 'policy'
    readonly force: boolean
    readonly writesTest: boolean
  },
): Promise<AppliedFixView & { readonly fix: string }> {
  const { folder } = new AgentProject(tape)
  const { id, title, operator, layer, edits } = candidate
  fixes.apply({ id, title, operator, layer, run: outcome.run, folder, edits }, options)
  const files = edits.map((edit) => fromHere(path.join(folder, edit.path)))
  const written = options.writesTest ? await writeRegressionTest(tape, outcome, options) : {}
  return { fix: id, files, ...written }
}

/**
 * Writes a test that replays the run with the fix, offline, and fails as soon as the fix is lost.
 * Tries the test once before writing it. Returns the reason if there is no test.
 */
async function writeRegressionTest(
  tape: Tape,
  { oracle, fixed }: FixOutcome,
  { force }: { readonly force: boolean },
): Promise<{ readonly test?: string; readonly command?: string; readonly noTest?: string }> {
  if (fixed === undefined || !existsSync(fixed.tape))
    return { noTest: 'the run with the fix has no tape of its own' }
  try {
    const branch = openTape(fixed.tape)
    trustInThisProcess(branch)
    const call = testedCall(branch)
    const { runs } = fixed
    // The test may not find an oracle of the configuration or in a file.
    const isPortable = call === undefined && /^(?:not:)?(?:exit|stdout|json|cmd):/.test(oracle)
    const settings = { ...(isPortable && { oracle }), runs }
    if (call === undefined) {
      const { cwd = '.' } = tape.details
      const program = path.resolve(movedHere(tape)?.current ?? cwd, entryOf(tape)?.file ?? '')
      const { judgement } = await replayProgram(program, fixed.tape, settings)
      if (isPortable && judgement?.verdict !== 'pass')
        return { noTest: `its replay does not pass: ${judgement?.reason}` }
    } else {
      if (runs.length > 0)
        return { noTest: 'the fix is inside a tool, which a test of a function does not run' }
      const options = { stdio: 'ignore', compares: 'requests' } as const
      const [divergence] = (await replayAgent(branch, options)).divergences
      if (divergence) return { noTest: `its replay differs: ${divergence.summary}` }
    }
    const { test, command } = writeTest(branch, {
      runner: runnerOfProject(process.cwd()),
      name: `${tape.run.name}-fixed`,
      by: `retake fix ${tape.run.id}`,
      force,
      ...settings,
      ...(call && { call }),
    })
    return { test: fromHere(test), command }
  } catch (error) {
    const explained = explain(error)
    return {
      noTest:
        explained === undefined
          ? ((error as Error).message.split('\n')[0] ?? '')
          : `${explained.what} (${explained.code})`,
    }
  }
}
