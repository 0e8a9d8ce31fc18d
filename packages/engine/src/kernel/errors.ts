import { errorTable, type FileBefore } from '@retake/tape/format'
import type { EventName } from './divergence.js'
import type { FileFinding } from './settle-doubts.js'
import { describeEvent } from './event-text.js'

interface FileInDoubt {
  readonly finding: FileFinding
  readonly before: FileBefore
}

function fileInDoubt({ finding, before }: FileInDoubt): string {
  const { path, size, length } = before
  const earlier = size === undefined ? 'it did not exist' : `it had ${size} bytes`
  if (finding.state === 'shared')
    return `Several writes to ${path} were in progress, whose order is not known.`
  if (finding.state === 'unreadable') return `${path} cannot be read (${finding.code}).`
  const now = 'size' in finding ? finding.size : undefined
  return now === undefined
    ? `${path} does not exist; before the call, ${earlier}.`
    : `${path} has ${now} bytes; before the call, which writes ${length} bytes, ${earlier}. Its content matches neither the state before the call nor the state after it or in between, so something else has probably changed it.`
}

/** The errors that the kernel itself makes. Those of the engine are in `errors.ts`. */
export const kernelErrors = errorTable({
  STEP_IN_DOUBT: (what: string, files: readonly FileInDoubt[] = []) => [
    `It is not known whether ${what} took effect.`,
    [
      'It was sent, but the run was killed before its answer was recorded.',
      ...files.map(fileInDoubt),
    ].join(' '),
    'Resume the run with `--in-doubt retry` to repeat it, or with `--in-doubt skip` to give the agent an error instead.',
  ],
  NOT_ON_TAPE: (event: EventName) => [
    `The tape has no answer for ${describeEvent(event)}.`,
    'A replay never goes live, so this call fails.',
    'Use strict mode to stop at the first difference, or record again.',
  ],
  CONNECTION_IN_DOUBT: (receiver: string) => [
    `It is not known whether the last bytes sent to ${receiver} took effect.`,
    'The run was killed before an answer was recorded. The connection is lost, and a client that reconnects may send them again.',
    'Check whether they took effect. Then resume the run with `--in-doubt skip`: the agent gets ECONNRESET.',
  ],
  STEP_SKIPPED: (what: string) => [
    `Retake did not repeat ${what}.`,
    'It may have taken effect before the run was killed, and the run was resumed with `--in-doubt skip`.',
    'Check whether it took effect. To repeat it, resume with `--in-doubt retry`.',
  ],
  ANSWER_LOST: () => [
    'The answer is not on the tape.',
    'The parent run ended before it arrived.',
    'Fork at an earlier step, or handle the error in the agent.',
  ],
})
