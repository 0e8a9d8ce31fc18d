import { lookOf, printJson } from '../terminal/terminal.js'
import type { Ended, Probe, Stop } from '@retake/engine/inspect'
import type { RunView, Step, Tape } from '@retake/tape'
import { cliErrors } from '../errors.js'
import { FOUND } from '../command-line/exit-codes.js'
import { momentOf } from '../runs/view-run.js'
import { replayReceipt } from '../agent/replay-receipt.js'
import type { Replayed } from '../agent/replay-agent.js'

/** The replay does something else than the tape says, before the place that was asked for. */
export class DivergedOnTheWay extends Error {
  override readonly name = 'DivergedOnTheWay'
  constructor(readonly replayed: Replayed) {
    super('the replay diverged on the way')
  }
}

/** Lets a probe run to the moment a step's answer reached the agent, and stops at the line it woke. */
export async function lookAtStep(probe: Probe, view: RunView, step: Step): Promise<Stop> {
  const held = await probe.runTo(momentOf(step))
  if (held.kind === 'ended') throw endedBefore(view, step, held)
  const stop = await probe.stopAtUserCode()
  if (stop.kind === 'ended') throw endedBefore(view, step, stop)
  return stop
}

function endedBefore(view: RunView, step: Step, end: Ended): Error {
  checkEnd(end)
  return cliErrors.NO_USER_CODE_AFTER(view.id, step.label)
}

/** Throws when the replay did not come to the end that was recorded. */
export function checkEnd({ report, signal, exitCode }: Ended): void {
  if (report === undefined)
    throw cliErrors.REPLAY_WITHOUT_REPORT(
      signal ? `was killed by ${signal}` : `exited with code ${exitCode}`,
    )
  if (report.divergences.length > 0) throw new DivergedOnTheWay(report as Replayed)
}

/** Runs `look`; a divergence is explained on stderr, or on stdout as JSON, with exit code 3. */
export async function explainingDivergence(
  tape: Tape,
  json: boolean,
  look: () => Promise<number>,
): Promise<number> {
  try {
    return await look()
  } catch (error) {
    if (!(error instanceof DivergedOnTheWay)) throw error
    const { replayed } = error
    if (json) {
      const { divergences } = replayed
      printJson({ run: tape.run.id, identical: false, divergences }, 2)
      return FOUND
    }
    const style = lookOf(process.stderr)
    const lines = [
      'The program does something else than when it was recorded, so its state then',
      'cannot be shown.',
      ...replayReceipt(tape, replayed, style),
    ]
    process.stderr.write(`${lines.join('\n')}\n`)
    return FOUND
  }
}
