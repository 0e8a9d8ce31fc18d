import type { Tape } from '@retake/tape'
import { divergenceAdvice, recordCommand } from './divergence-advice.js'
import { divergenceReport } from './divergence-report.js'
import { duration } from './duration.js'
import { FOUND } from './exit-codes.js'
import { plural } from './facts.js'
import type { Replayed } from './replay-agent.js'
import { replayRecordedCommand } from './replay-recorded-command.js'
import { signalExitCode } from './signal-exit-code.js'
import { painter, widthOf } from './terminal.js'
import type { Look } from './terminal.js'
import { flag } from './verb.js'
import type { OptionValues } from './verb.js'
import { stepAt, viewRun } from './view-run.js'

/** `retake replay` of a run that was recorded with `retake record -- <command>`. */
export async function replayCommandRun(tape: Tape, values: OptionValues): Promise<number> {
  const json = flag(values, 'json')
  const replayed = await replayRecordedCommand(tape, {
    pace: flag(values, 'pace'),
    show: (stream, bytes) => void (json ? process.stderr : process[stream]).write(bytes),
  })
  const identical = replayed.divergences.length === 0
  if (json)
    console.log(
      JSON.stringify(
        { run: tape.run.id, digest: tape.digest, identical, ...replayed },
        undefined,
        2,
      ),
    )
  else {
    const look = { paint: painter(process.stderr), width: widthOf(process.stderr) }
    process.stderr.write(`${receipt(tape, replayed, look).join('\n')}\n`)
  }
  if (!identical) return FOUND
  if (replayed.signal) return signalExitCode(replayed.signal)
  return replayed.cutOff ? 0 : replayed.exitCode
}

function receipt(tape: Tape, replayed: Replayed, look: Look): string[] {
  const { divergences } = replayed
  const view = viewRun(tape)
  if (divergences.length === 0) return sameLines(tape, replayed, look)
  const again = recordCommand(tape)
  return divergences.flatMap((divergence, index) => {
    const step = stepAt(view, divergence.seq)
    const fix = divergenceAdvice(tape, divergence, { again })
    const place = { events: tape.count, fix, ...(step && { step: `step ${step.label}` }) }
    return [...(index > 0 ? [''] : []), ...divergenceReport(divergence, place, look)]
  })
}

/** Nothing differs. Called identical only if the sandbox blocked everything that was not compared. */
function sameLines(tape: Tape, replayed: Replayed, look: Look): string[] {
  const { served, wallMs, cutOff } = replayed
  const facts = [
    `${plural(served, 'request')} served`,
    ...(cutOff
      ? ['the recording was cut off, its end is not known']
      : ['stdout and exit as recorded']),
    `${duration(wallMs)} (recorded ${duration(viewRun(tape).durationMs)})`,
  ]
  const { isSame, held, gaps } = isolationFacts(replayed)
  const verdict = isSame ? 'identical' : 'same requests and output'
  return [
    [look.paint(isSame ? 'green' : 'yellow', verdict), ...facts, ...held].join(' · '),
    ...gaps.map((gap) => `${look.paint('yellow', 'note')} ${gap}`),
    `digest ${tape.digest}`,
  ]
}

/** Describes what was blocked for a replayed command and what was not. */
export function isolationFacts({ isolation, notRecorded = [] }: Replayed): {
  /** Nothing could happen besides what was compared. */
  readonly isSame: boolean
  readonly held: readonly string[]
  readonly gaps: readonly string[]
} {
  const gaps = notRecorded.map(
    (target) => `the connection to ${target} was not recorded, and was refused: not compared`,
  )
  if (isolation === undefined) return { isSame: gaps.length === 0, held: [], gaps }
  const { network, by, except = [], why } = isolation
  if (network === 'open')
    gaps.push(
      `its file writes and its connections outside the proxy were not held back: ${why ?? ''}`,
    )
  else if (except.length > 0) gaps.push(`not held back: ${except.join(', ')}`)
  return {
    isSame: gaps.length === 0,
    held: network === 'blocked' ? [`network blocked (${by})`, 'file writes discarded'] : [],
    gaps,
  }
}
