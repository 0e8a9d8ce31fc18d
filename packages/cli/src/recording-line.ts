import { openTape } from '@retake/tape/node'
import type { Recording } from './record-agent.js'
import { duration } from './duration.js'
import { painter } from './terminal.js'

/** What came of a recording, in one or two lines. */
export function recordingLine(recording: Recording): string {
  const paint = painter(process.stderr)
  const { steps, ms, cutOff } = factsOf(recording)
  const facts = [
    `${steps} ${steps === 1 ? 'step' : 'steps'}`,
    duration(ms),
    'retake show last',
  ].join(' · ')
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
  const tape = openTape(file)
  let steps = 0
  let ms = 0
  for (const event of tape.events()) {
    if (event.type === 'request' || (event.type === 'call' && event.kind === 'tool')) steps += 1
    ms = event.at
  }
  return { steps, ms, cutOff: tape.status === 'truncated' }
}
