import type { Divergence } from './sessions/divergence.js'

/** Every error of this package: a stable code, what happened, why, and what to do about it. */
export class RetakeError extends Error {
  override readonly name: string = 'RetakeError'
  constructor(
    readonly code: string,
    readonly what: string,
    readonly why: string,
    readonly fix: string,
    options?: ErrorOptions,
  ) {
    super(`${what} ${why} ${fix}`, options)
  }
}

/** Replay found the first point where the program does something else than the tape says. */
export class ReplayDiverged extends RetakeError {
  override readonly name = 'ReplayDiverged'
  constructor(readonly divergence: Divergence) {
    super(
      'REPLAY_DIVERGED',
      `Replay diverged at event ${divergence.seq}: ${divergence.summary}`,
      divergence.explanation,
      'Compare the code with the version that was recorded, or record again.',
    )
  }
}

export const errors = {
  toolResultNotRecordable: (tool: string, what: string) =>
    new RetakeError(
      'TOOL_RESULT_NOT_RECORDABLE',
      `Tool "${tool}" returned ${what}, which cannot be stored on a tape.`,
      'A replay serves the stored result instead of running the tool.',
      'Return plain data: objects, arrays, strings, numbers, dates, maps, sets or bytes.',
    ),
  nestedRun: () =>
    new RetakeError(
      'RUN_INSIDE_RUN',
      'record() or replay() was called inside another run.',
      'A call belongs to one run at a time, so the inner run would be missing from the outer tape.',
      'Start the inner run outside, or let the outer recording include it.',
    ),
  notOnTape: (what: string) =>
    new RetakeError(
      'NOT_ON_TAPE',
      `The tape has no answer for ${what}.`,
      'A replay never goes live, so this call fails.',
      'Use strict mode to stop at the first difference, or record again.',
    ),
  notReplayable: (name: string) =>
    new RetakeError(
      'BOUNDARY_NOT_REPLAYABLE',
      `${name} was reached during replay.`,
      'Retake does not capture it, and a replay never touches the outside.',
      'See docs/contract.md for what is captured; wrap the call in tool() to make it replayable.',
    ),
  sessionFileMissing: (cause: unknown) =>
    new RetakeError(
      'SESSION_MISSING',
      'The Retake preload was started without a session.',
      'It reads its task from RETAKE_SESSION, which is unset or not JSON.',
      'Start agents with `retake record` or `retake replay`.',
      { cause },
    ),
}
