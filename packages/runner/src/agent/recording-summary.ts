import path from 'node:path'
import { isTrustedRun, trustedRunsFile } from '@retake/engine/runs'
import { openTape } from '@retake/tape/node'
import { countSteps, duration, stepCountsText } from '@retake/tape/present'
import { RunStore } from '../runs/run-store.js'
import { viewRun } from '../runs/view-run.js'
import { fromHere, type Paint, linesOf } from '../terminal/terminal.js'
import { notCapturedLines } from './divergence.js'
import type { AgentRecording } from './record-agent.js'

export function recordingLine(
  recording: AgentRecording,
  paint: Paint,
  facts = recordingFacts(recording),
): string {
  const { ms, cutOff, trusted, notCaptured } = facts
  const { code, signal } = recording
  const end = signal === undefined ? `exit code ${code}` : `killed by ${signal}`
  const said = [stepCountsText(facts), duration(ms), next(recording)]
  if (signal !== undefined || code !== 0) said.unshift(end)
  const line = `${paint('green', 'recorded')} ${paint('bold', recording.id)} · ${said.join(' · ')}`
  return linesOf(
    line,
    cutOff &&
      `${paint('yellow', 'cut off')} · the tape contains everything up to that point, but no end`,
    !trusted &&
      `${paint('yellow', 'not trusted')} · ${trustedRunsFile()} cannot be written: replay needs --trust`,
    ...notCapturedLines(notCaptured, next(recording)),
  ).join('\n')
}

export function recordingJson(
  recording: AgentRecording,
  facts = recordingFacts(recording),
): string {
  return JSON.stringify({ ...recording, ...facts })
}

/** The command that shows the run. `last` works only in the default folder. */
const next = ({ tape }: AgentRecording): string =>
  `retake show ${path.dirname(tape) === new RunStore().folder ? 'last' : fromHere(tape)}`

export function recordingFacts({ tape: file }: AgentRecording) {
  const tape = openTape(file)
  const view = viewRun(tape)
  return {
    ...countSteps(view),
    ms: view.durationMs,
    cutOff: view.status === 'truncated',
    /** True if this machine remembers recording the run, so that it may be started again. */
    trusted: isTrustedRun(tape),
    notCaptured: view.notCaptured,
  }
}
