import { errorTable } from '@retake/tape/format'
import type { EventName } from './divergence.js'
import { describeEvent } from './event-text.js'

/** The errors that the kernel itself makes. Those of the engine are in `errors.ts`. */
export const kernelErrors = errorTable({
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
