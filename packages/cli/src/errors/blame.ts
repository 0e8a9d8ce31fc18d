import { RetakeError } from '@retake/engine/errors'
import { printable } from '../terminal/terminal.js'
import { reason } from './reason.js'

export const findingsUnreadable = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'FINDINGS_UNREADABLE',
    `What blame found, ${file}, cannot be read.`,
    `${reason(cause)}.`,
    'Search again with `retake blame`: forks that were run are not run again. If a newer Retake wrote it, use that one.',
    { cause },
  )

export const blameNoSteps = (run: string): RetakeError =>
  new RetakeError(
    'BLAME_NO_STEPS',
    `Run ${run} has no step that could be blamed.`,
    'It asks no model, calls no tool, sends no request and starts no process.',
    'Wrap what may fail in `tool()` from the package retake, and record again.',
  )

export const blameCannotTell = (oracle: string, why: string): RetakeError =>
  new RetakeError(
    'BLAME_CANNOT_TELL',
    'The oracle cannot tell whether the recorded run failed.',
    `"${printable(oracle)}" was asked about the unchanged run and came to nothing: ${printable(why)}.`,
    'Make it answer pass or fail for this run; `retake show` prints what the run wrote.',
  )

export const blameAgentChanged = (run: string, difference: string): RetakeError =>
  new RetakeError(
    'BLAME_AGENT_CHANGED',
    `The program is no longer the one that was recorded in ${run}.`,
    `Served from its tape it did something else: ${printable(difference)}. No fork would say anything about the recorded run.`,
    `\`retake replay ${run}\` shows the first difference. Undo the change, or record the failure again.`,
  )

export const judgeRefused = (url: string, status: number, said: string): RetakeError =>
  new RetakeError(
    'JUDGE_REFUSED',
    `The judge at ${url} refused with status ${status}.`,
    said === '' ? 'It did not say why.' : `It said: ${printable(said)}`,
    'Check address, model and key: `judge: { url, model, apiKeyEnv }` in retake.config.ts, --judge-url and --judge-model.',
  )
