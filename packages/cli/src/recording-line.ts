import { openTape } from '@retake/tape/node'
import type { Recording } from './record-agent.js'
import { duration } from './duration.js'
import { plural } from './facts.js'
import type { Paint } from './terminal.js'
import { viewRun } from './view-run.js'

/** What came of a recording, in one or two lines. */
export function recordingLine(recording: Recording, paint: Paint): string {
  const { steps, ms, cutOff } = factsOf(recording)
  const exit = recording.code === 0 || recording.signal ? [] : [`exit code ${recording.code}`]
  const facts = [...exit, plural(steps, 'step'), duration(ms), 'retake show last'].join(' · ')
  const line = `${paint('green', 'recorded')} ${paint('bold', recording.id)} · ${facts}`
  if (!cutOff) return line
  return `${line}\n${paint('yellow', 'cut off')} ${how(recording)}; the tape holds everything up to there`
}

export function recordingJson(recording: Recording): string {
  return JSON.stringify({ ...recording, ...factsOf(recording) })
}

const how = ({ signal }: Recording): string =>
  signal
    ? `the agent was killed by ${signal}`
    : 'the agent ended without a chance to finish its tape'

function factsOf({ tape: file }: Recording): { steps: number; ms: number; cutOff: boolean } {
  const view = viewRun(openTape(file))
  return {
    steps: view.recordedSteps.length,
    ms: view.durationMs,
    cutOff: view.status === 'truncated',
  }
}
