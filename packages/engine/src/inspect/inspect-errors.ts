import { RetakeError } from '../errors.js'

/** Why a run cannot be looked into, or not there. Each code has a page in docs/errors. */
export const inspectErrors = {
  noSuchMoment: (run: string, step: string, count: number) =>
    new RetakeError(
      'NO_SUCH_STEP',
      `Run ${run} has no recorded step ${step}.`,
      count === 0 ? 'It has no steps at all.' : `There are ${count}.`,
      `\`retake show ${run}\` lists them; steps with a point in their number are only seen in conversations.`,
    ),
  stepNotReached: (run: string, step: string, why: string) =>
    new RetakeError(
      'STEP_NOT_REACHED',
      `The replay of run ${run} ended before step ${step}.`,
      why,
      `See what is different with \`retake replay ${run}\`, and go back to the code that was recorded.`,
    ),
  notAtAStep: (where: string) =>
    new RetakeError(
      'NOT_AT_A_STEP',
      `There is nothing to look at at the ${where} of the run.`,
      'Variables and the stack are seen where the answer of a step reached the agent.',
      'Go to a step first.',
    ),
  timelineClosed: () =>
    new RetakeError(
      'TIMELINE_CLOSED',
      'The timeline is closed.',
      'Its processes were ended.',
      'Open a new one.',
    ),
  probeGone: (during: string) =>
    new RetakeError(
      'PROBE_GONE',
      'The process that was looked into is gone.',
      `It ended or was killed before it could answer ${during}.`,
      'Look again; if it happens again, run `retake replay` to see how the run ends.',
    ),
}
