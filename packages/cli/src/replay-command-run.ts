import type { Tape } from '@retake/tape'
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

function receipt(
  tape: Tape,
  { divergences, served, wallMs, cutOff }: Replayed,
  look: Look,
): string[] {
  const view = viewRun(tape)
  if (divergences.length === 0) {
    const facts = [
      `${plural(served, 'request')} served`,
      ...(cutOff
        ? ['the recording was cut off, its end is not known']
        : ['stdout and exit as recorded']),
      `${duration(wallMs)} (recorded ${duration(view.durationMs)})`,
    ]
    return [`${look.paint('green', 'identical')} · ${facts.join(' · ')}`, `digest ${tape.digest}`]
  }
  const { command = [] } = tape.details
  const fix = ['Undo the change, or record again:', ['retake record --', ...command].join(' ')]
  return divergences.flatMap((divergence, index) => {
    const step = stepAt(view, divergence.seq)
    const place = { events: tape.count, fix, ...(step && { step: `step ${step.label}` }) }
    return [...(index > 0 ? [''] : []), ...divergenceReport(divergence, place, look)]
  })
}
