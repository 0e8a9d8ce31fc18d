import { RetakeError } from '@retake/engine/hook'
import type { Denial } from '../guard-error.js'

/** Said beside the code of the denial itself. */
const POLICY_CHANGED = 'POLICY_CHANGED'

/** Why a run is not resumed, and why a call of a resumed run is not made. */
export const resumeErrors = {
  corrupt: (tape: string, seq: number, message: string) =>
    new RetakeError(
      'RESUME_TAPE_CORRUPT',
      `The run on ${tape} is not resumed.`,
      `Event ${seq} is not what was recorded: ${message}. Results of it cannot be trusted.`,
      'Restore the tape from a copy, or start a new run without `resume`.',
    ),
  changed: (tape: string) =>
    new RetakeError(
      'RESUME_TAPE_CORRUPT',
      `The run on ${tape} is not resumed.`,
      'A run that went on from it names another chain hash: the tape was changed or replaced.',
      'Restore the tape from a copy, or start a new run without `resume`.',
    ),
  missing: (tape: string, by: string, cause: unknown) =>
    new RetakeError(
      'RESUME_TAPE_MISSING',
      `Run ${by} is not resumed.`,
      `It went on from an earlier one, and ${tape} is gone: what was done there is not known.`,
      'Put the tape back into its folder, or start a new run without `resume`.',
      { cause },
    ),
  notDurable: (tape: string) =>
    new RetakeError(
      'RESUME_NOT_DURABLE',
      `The run on ${tape} is not resumed.`,
      "It was recorded with durability 'memory' and did not come to its end: calls may have been made that it does not know of.",
      "Check which calls ran, then start a new run. Use durability 'disk' for runs that you may resume.",
    ),
  inDoubt: (tool: string, run: string): Denial => ({
    code: 'CALL_IN_DOUBT',
    rule: 'guard/in-doubt',
    what: `Tool "${tool}" was not started again.`,
    why: `In run ${run} this very call was started and nobody got its answer: it may have had its effect.`,
    allowed:
      'Find out whether it did, then resume with `inDoubt`: retry or skip, for all or by a function. A tool that is `idempotent` or has an `idempotencyKey` is retried by itself.',
  }),
  keyFailed: (tool: string, error: unknown): Denial => ({
    code: 'IDEMPOTENCY_KEY_FAILED',
    rule: 'guard/key',
    what: `Tool "${tool}" was not started.`,
    why: `Its idempotencyKey gave no text: ${error instanceof Error ? error.message : String(error)}.`,
    allowed: 'Return the same non-empty text for the same call.',
  }),
  /** Said where a call is denied that an earlier run was allowed to make. */
  policyChanged: (denial: Denial, run: string, then: string, now: string): Denial => ({
    ...denial,
    why: `${denial.why} (${POLICY_CHANGED}: run ${run} made this call under policy ${then}; today's is ${now}.)`,
  }),
}
