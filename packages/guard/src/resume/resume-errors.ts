import { errorTable, reason } from '@retake/tape/format'
import { type Denial, denialTable, notStarted } from '../denials/guard-error.js'

export const resumeErrors = errorTable({
  RESUME_TAPE_CORRUPT: (tape: string, problem: { seq: number; message: string }) => [
    `The run on ${tape} is not resumed.`,
    `Event ${problem.seq} was changed: ${problem.message}. Its results cannot be trusted.`,
    'Restore the tape from a copy, or start a new run without `resume`.',
  ],
  RESUME_TAPE_REPLACED: (tape: string) => [
    `The run on ${tape} is not resumed.`,
    'A run that continued it has another chain hash: the tape was changed or replaced.',
    'Restore the tape from a copy, or start a new run without `resume`.',
  ],
  RESUME_TAPE_MISSING: (tape: string, by: string, _cause: unknown) => [
    `Run ${by} is not resumed.`,
    `It continued an earlier run, whose tape ${tape} is missing.`,
    'Put the tape back into its folder, or start a new run without `resume`.',
  ],
  RESUME_KEY_MISSING: (tape: string, key: string) => [
    `The run on ${tape} is not resumed.`,
    `It was recorded with redaction, and its key ${key} is not on this machine: its results are unknown.`,
    'Resume it where it was recorded, or set RETAKE_VAULT_KEY to its key.',
  ],
  RESUME_REDACTION_CHANGED: (tape: string) => [
    `The run on ${tape} is not resumed.`,
    'Only one of it and the run that continues it is recorded with redaction.',
    'Resume it with the same `redact` rules, or start a new run without `resume`.',
  ],
  RESUME_NOT_DURABLE: (tape: string) => [
    `The run on ${tape} is not resumed.`,
    "It was recorded with durability 'process' and did not end, and this machine was restarted since then: calls may be missing on the tape.",
    "Check which calls ran, then start a new run. Use durability 'machine' for runs that must survive a power cut.",
  ],
})

export const resumeDenials = denialTable({
  CALL_IN_DOUBT: (tool: string, run: string) => [
    'guard/in-doubt',
    `Tool "${tool}" was not started again.`,
    `In run ${run}, this call was started and has no result: it may have had its effect.`,
    'Find out whether it did, then resume with `inDoubt`: retry or skip, or a function. A tool with `verify` finds out by itself; one that is `idempotent` or has an `idempotencyKey` is retried.',
  ],
  IDEMPOTENCY_KEY_FAILED: (tool: string, error: unknown) => [
    'guard/key',
    notStarted(tool),
    `Its idempotencyKey did not return text: ${reason(error)}.`,
    'Return the same non-empty text for the same call.',
  ],
})

/** Extends the denial of a call that an earlier run made under another policy. */
export const withChangedPolicy = (
  denial: Denial,
  run: string,
  then: string,
  now: string,
): Denial => ({
  ...denial,
  why: `${denial.why} (POLICY_CHANGED: run ${run} made this call under policy ${then}; the current one is ${now}.)`,
})
