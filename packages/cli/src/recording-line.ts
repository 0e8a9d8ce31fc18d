import path from 'node:path'
import { openTape } from '@retake/tape/node'
import type { Recording } from './record-agent.js'
import { duration } from './duration.js'
import { plural } from './facts.js'
import { fromHere } from './from-here.js'
import { RunStore } from './run-store.js'
import type { Paint } from './terminal.js'
import { viewRun } from './view-run.js'

/** What came of a recording, in one or two lines. */
export function recordingLine(recording: Recording, paint: Paint): string {
  const { steps, ms, cutOff } = factsOf(recording)
  const facts = [...exitOf(recording), plural(steps, 'step'), duration(ms), next(recording)].join(
    ' · ',
  )
  const line = `${paint('green', 'recorded')} ${paint('bold', recording.id)} · ${facts}`
  if (!cutOff) return line
  return [
    line,
    `${paint('yellow', 'cut off')} · the tape holds everything up to there, but no end`,
  ].join('\n')
}

export function recordingJson(recording: Recording): string {
  return JSON.stringify({ ...recording, ...factsOf(recording) })
}

/** The command to look at it; `last` works for the folder that commands look in by themselves. */
const next = ({ tape }: Recording): string =>
  `retake show ${path.dirname(tape) === new RunStore().folder ? 'last' : fromHere(tape)}`

const exitOf = ({ code, signal }: Recording): string[] => {
  if (signal !== undefined) return [`killed by ${signal}`]
  return code === 0 ? [] : [`exit code ${code}`]
}

function factsOf({ tape: file }: Recording): { steps: number; ms: number; cutOff: boolean } {
  const view = viewRun(openTape(file))
  return {
    steps: view.recordedSteps.length,
    ms: view.durationMs,
    cutOff: view.status === 'truncated',
  }
}
