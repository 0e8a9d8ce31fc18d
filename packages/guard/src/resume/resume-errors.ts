import { RetakeError } from '@retake/engine/hook'
import type { Denial } from '../guard-error.js'

const POLICY_CHANGED = 'POLICY_CHANGED'

export const resumeErrors = {
  corrupt: (tape: string, seq: number, message: string) =>
    new RetakeError(
      'RESUME_TAPE_CORRUPT',
      `The run on ${tape} is not resumed.`,
      `Event ${seq} was changed: ${message}. Its results cannot be trusted.`,
      'Restore the tape from a copy, or start a new run without `resume`.',
    ),
  changed: (tape: string) =>
    new RetakeError(
      'RESUME_TAPE_CORRUPT',
      `The run on ${tape} is not resumed.`,
      'A run that continued it has another chain hash: the tape was changed or replaced.',
      'Restore the tape from a copy, or start a new run without `resume`.',
    ),
  missing: (tape: string, by: string, cause: unknown) =>
    new RetakeError(
      'RESUME_TAPE_MISSING',
      `Run ${by} is not resumed.`,
      `It continued an earlier run, whose tape ${tape} is missing.`,
      'Put the tape back into its folder, or start a new run without `resume`.',
      { cause },
    ),
  keyMissing: (tape: string, key: string) =>
    new RetakeError(
      'RESUME_KEY_MISSING',
      `The run on ${tape} is not resumed.`,
      `It was recorded with redaction, and its key ${key} is not on this machine: its results are unknown.`,
      'Resume it where it was recorded, or set RETAKE_VAULT_KEY to its key.',
    ),
  redactionChanged: (tape: string, wasRedacted: boolean) =>
    new RetakeError(
      'RESUME_REDACTION_CHANGED',
      `The run on ${tape} is not resumed.`,
      wasRedacted
        ? 'It was recorded with redaction, and the run that continues it has none.'
        : 'It was recorded without redaction, and the run that continues it has some.',
      'Resume it with the same `redact` rules, or start a new run without `resume`.',
    ),
  notDurable: (tape: string) =>
    new RetakeError(
      'RESUME_NOT_DURABLE',
      `The run on ${tape} is not resumed.`,
      "It was recorded with durability 'memory' and did not end: calls may be missing on the tape.",
      "Check which calls ran, then start a new run. Use durability 'disk' for runs that you may resume.",
    ),
  inDoubt: (tool: string, run: string): Denial => ({
    code: 'CALL_IN_DOUBT',
    rule: 'guard/in-doubt',
    what: `Tool "${tool}" was not started again.`,
    why: `In run ${run}, this call was started and has no result: it may have had its effect.`,
    allowed:
      'Find out whether it did, then resume with `inDoubt`: retry or skip, or a function. A tool with `verify` finds out by itself; one that is `idempotent` or has an `idempotencyKey` is retried.',
  }),
  keyFailed: (tool: string, error: unknown): Denial => ({
    code: 'IDEMPOTENCY_KEY_FAILED',
    rule: 'guard/key',
    what: `Tool "${tool}" was not started.`,
    why: `Its idempotencyKey did not return text: ${error instanceof Error ? error.message : String(error)}.`,
    allowed: 'Return the same non-empty text for the same call.',
  }),
  policyChanged: (denial: Denial, run: string, then: string, now: string): Denial => ({
    ...denial,
    why: `${denial.why} (${POLICY_CHANGED}: run ${run} made this call under policy ${then}; the current one is ${now}.)`,
  }),
}
