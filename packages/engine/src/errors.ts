import type { Divergence } from './player/divergence.js'
import type { Mismatch } from './player/compare.js'

export { closestName } from './closest-name.js'

/** Every error of this package: a stable code, what happened, why, and what to do about it. */
export class RetakeError extends Error {
  override readonly name: string = 'RetakeError'
  constructor(
    readonly code: string,
    readonly what: string,
    readonly why: string,
    readonly fix: string,
    options?: ErrorOptions & { readonly details?: readonly string[] },
  ) {
    super([`${what} ${why} ${fix}`, ...(options?.details ?? [])].join('\n'), options)
  }
}

type ErrorText = readonly [
  what: string,
  why: string,
  fix: string,
  options?: ErrorOptions & { readonly details?: readonly string[] },
]

/** Turns a table of texts by code into a table of functions that make the errors. */
export function errorTable<
  Table extends Readonly<Record<string, (...values: never[]) => ErrorText>>,
>(
  table: Table,
): { readonly [Code in keyof Table]: (...values: Parameters<Table[Code]>) => RetakeError } {
  const factories = Object.entries(table).map(([code, text]) => [
    code,
    (...values: never[]) => new RetakeError(code, ...text(...values)),
  ])
  return Object.fromEntries(factories) as ReturnType<typeof errorTable<Table>>
}

/** The message of anything that was thrown. */
export const reason = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause)

const SHOWN_MISMATCHES = 3
const SHOWN_LENGTH = 300

/** The difference itself, where it begins: `-` the tape, `+` the program. */
function mismatchLines({ field, recorded, current }: Mismatch): string[] {
  const [before, now] = [recorded, current].map(shownValue)
  const from = Math.max(0, sameLength(before ?? '', now ?? '') - 40)
  const excerpt = (text: string) =>
    (from > 0 ? '…' : '') +
    text.slice(from, from + SHOWN_LENGTH) +
    (text.length > from + SHOWN_LENGTH ? '…' : '')
  return [
    `  ${field}`,
    ...(before === undefined ? [] : [`  - ${excerpt(before)}`]),
    ...(now === undefined ? [] : [`  + ${excerpt(now)}`]),
  ]
}

const shownValue = (value: unknown): string | undefined =>
  value === undefined || typeof value === 'string' ? value : JSON.stringify(value)

function sameLength(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return at
}

/** Replay found the first point where the program does something else than the tape says. */
export class ReplayDiverged extends RetakeError {
  override readonly name = 'ReplayDiverged'
  constructor(
    readonly divergence: Divergence,
    told: { readonly code: string; readonly what: string; readonly fix: string } = {
      code: 'REPLAY_DIVERGED',
      what: `Replay diverged at event ${divergence.seq}: ${divergence.summary}.`,
      fix: 'Compare the code with the version that was recorded, or record again.',
    },
  ) {
    const details = divergence.mismatches.slice(0, SHOWN_MISMATCHES).flatMap(mismatchLines)
    super(told.code, told.what, divergence.explanation, told.fix, { details })
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
  recordOptionsInvalid: (why: string) =>
    new RetakeError(
      'RECORD_OPTIONS_INVALID',
      'record() was called with options that it does not understand.',
      why,
      "Call it as record({ name: 'my agent' }, agent); `dir` and `root` may be given, too.",
    ),
  runsFolderNotWritable: (folder: string, cause: unknown) =>
    new RetakeError(
      'RUNS_FOLDER_NOT_WRITABLE',
      `The folder ${folder} cannot be written to.`,
      `The system said: ${cause instanceof Error ? cause.message : String(cause)}.`,
      'Give yourself write permission, or choose another folder with `dir`.',
      { cause },
    ),
  notOnTape: (what: string) =>
    new RetakeError(
      'NOT_ON_TAPE',
      `The tape has no answer for ${what}.`,
      'A replay never goes live, so this call fails.',
      'Use strict mode to stop at the first difference, or record again.',
    ),
  runComplete: (id: string) =>
    new RetakeError(
      'RUN_COMPLETE',
      `Run ${id} came to its end; there is nothing to resume.`,
      'A run can be resumed when it was killed, or ended with an error.',
      'To try something else from one of its steps, fork it; to run changed code against it, use `retake rerun`.',
    ),
  noStepToFork: (run: string, label: string, count: number, status?: string) =>
    new RetakeError(
      'NO_SUCH_STEP',
      `Run ${run} has no step ${label}.`,
      count === 0
        ? 'It has no steps at all.'
        : `Its steps are numbered 1 to ${count}${status === 'truncated' ? '; it was cut off there' : ''}.`,
      status === 'truncated'
        ? `\`retake show ${run}\` lists them; \`retake resume ${run}\` goes on where it was cut off.`
        : `\`retake show ${run}\` lists them.`,
    ),
  inferredStep: (run: string, label: string, asker: string) =>
    new RetakeError(
      'STEP_NOT_RECORDED',
      `Step ${label} of run ${run} was not recorded itself.`,
      'The tool is not wrapped by tool(), so only its result in the conversation is known.',
      `Fork at the model step after it with --request, or at step ${asker}, which asked for it.`,
    ),
  changeDoesNotFit: (what: string, why: string) =>
    new RetakeError(
      'CHANGE_DOES_NOT_FIT',
      `${what} cannot be changed in this way.`,
      why,
      '`retake fork --help` says what can be changed where.',
    ),
  answerAndRequestEdited: () =>
    new RetakeError(
      'ANSWER_AND_REQUEST_EDITED',
      'A fork can change the answer of a step or its request, not both.',
      'A changed request gets a live answer.',
      'Leave out either --request, or --set and --response.',
    ),
  noOverlay: (folder: string) =>
    new RetakeError(
      'NO_OVERLAY',
      `There are no files of a branch in ${folder}.`,
      'Only forks and reruns keep the files they write to themselves, until they are discarded.',
      '`retake branches <run>` shows the branches of a run; the files of any other run are on disk.',
    ),
  stepInDoubt: (what: string) =>
    new RetakeError(
      'STEP_IN_DOUBT',
      `It is not known whether ${what} had its effect.`,
      'It left before the run was killed, and its answer is not on the tape.',
      'Say what to do: `--in-doubt retry` makes it again, `--in-doubt skip` hands the agent an error instead.',
    ),
  answerInDoubt: (what: string) =>
    new RetakeError(
      'STEP_IN_DOUBT',
      `It is not known whether ${what} had its effect.`,
      'It left before the recorded run was killed, and its answer is not on the tape.',
      'Finish the run with resume() first, or record it again.',
    ),
  stepSkipped: (what: string) =>
    new RetakeError(
      'STEP_SKIPPED',
      `Retake did not repeat ${what}.`,
      'It may have had its effect before the run was killed, and the run was resumed with `--in-doubt skip`.',
      'Check the other side, or resume with `--in-doubt retry`.',
    ),
  answerLost: () =>
    new RetakeError(
      'ANSWER_LOST',
      'The answer is not on the tape.',
      'The parent run ended before it came.',
      'Fork at an earlier step, or handle the error in the agent.',
    ),
  stepNotSearchable: (run: string, label: string, why: string) =>
    new RetakeError(
      'STEP_NOT_SEARCHABLE',
      `Step ${label} of run ${run} can be neither held nor made free.`,
      `${why.charAt(0).toUpperCase()}${why.slice(1)}.`,
      'Name only steps that `searchableSteps` gives.',
    ),
  runCutOff: (run: string) =>
    new RetakeError(
      'RUN_CUT_OFF',
      `Run ${run} cannot be replayed to its end.`,
      'It was killed, so the tape does not say what it would have come to.',
      'Resume it first, or make at least one of its steps free.',
    ),
  simulatorUnusable: (file: string, cause: unknown) =>
    new RetakeError(
      'SIMULATOR_UNUSABLE',
      `The simulator ${file} cannot be used.`,
      `${cause instanceof Error ? cause.message : String(cause)}.`,
      'A simulator is a module: export default (step) => ({ payload: … }). One in TypeScript needs an agent in TypeScript.',
      { cause },
    ),
  simulatorFailed: (step: string, cause: unknown) =>
    new RetakeError(
      'SIMULATOR_FAILED',
      `The simulator gave no answer to ${step}.`,
      `It failed: ${cause instanceof Error ? cause.message : String(cause)}.`,
      'Mend it. It may return undefined for what shall be asked live.',
      { cause },
    ),
  freeAnswerUnusable: (step: string, cause: unknown) =>
    new RetakeError(
      'FREE_ANSWER_UNUSABLE',
      `What was given cannot be an answer to ${step}.`,
      cause instanceof Error ? cause.message : String(cause),
      'Give `{ payload }` with the parsed answer, as `retake show --json` has it, or `{ error }` with a message.',
      { cause },
    ),
  offlineTailEnded: (divergence: Divergence) =>
    new ReplayDiverged(divergence, {
      code: 'OFFLINE_TAIL_ENDED',
      what: `The branch asks for something the parent has no answer to: ${divergence.summary}.`,
      fix: 'Fork without `--tail offline` to ask it live, or change the edit.',
    }),
  answerNotOnTape: (divergence: Divergence) =>
    new ReplayDiverged(divergence, {
      code: 'ANSWER_NOT_ON_TAPE',
      what: `The tape cannot answer: ${divergence.summary}.`,
      fix: "Pass `otherwise: 'live'` to answerFrom() to really ask what the tape does not hold, or ask as it was asked when recorded.",
    }),
  notReplayable: (name: string) =>
    new RetakeError(
      'BOUNDARY_NOT_REPLAYABLE',
      `${name} was reached during replay.`,
      'Retake does not capture it, and a replay never touches the outside.',
      '`retake docs contract` says what is captured; wrap the call in tool() to make it replayable.',
    ),
  serverNotReplayable: (site: string | undefined) =>
    new RetakeError(
      'SERVER_NOT_REPLAYABLE',
      `The program listens for connections${site === undefined ? '' : ` (${site})`}.`,
      'Requests from outside are not captured, so this run cannot be replayed.',
      'Record each request in its handler with `record()`: see `retake docs SERVER_NOT_REPLAYABLE`.',
    ),
  addonNotReplayable: (addon: string) =>
    new RetakeError(
      'ADDON_NOT_REPLAYABLE',
      `The native add-on ${addon} was used during replay.`,
      'Retake does not capture what native code does, and a replay never touches the outside.',
      'Wrap the calls in tool(), or list the package under `pureAddons` in retake.config if it only computes.',
    ),
  databaseNotCarriedOver: (file: string, why: string) =>
    new RetakeError(
      'DATABASE_NOT_CARRIED_OVER',
      `The live part of this run cannot go on with the database ${file}.`,
      why,
      'Start the branch at a step before or after it.',
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
