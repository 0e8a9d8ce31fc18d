/** Stable codes of tape errors. */
export type TapeErrorCode =
  | 'TAPE_MISSING'
  | 'TAPE_UNREADABLE'
  | 'TAPE_IS_DIRECTORY'
  | 'TAPE_EMPTY'
  | 'TAPE_NOT_A_TAPE'
  | 'TAPE_NO_RUN'
  | 'TAPE_CORRUPT'
  | 'TAPE_FROM_FUTURE'
  | 'TAPE_FROM_PAST'
  | 'TAPE_NO_SUCH_EVENT'
  | 'TAPE_VALUE_TOO_LARGE'
  | 'TAPE_EXISTS'
  | 'TAPE_SEALED'
  | 'TAPE_NOT_SEALED'
  | 'TAPE_CLOSED'
  | 'TAPE_WRITE_FAILED'
  | 'TAPE_IN_USE'
  | 'BRANCH_PARENT_MISSING'
  | 'BRANCH_PARENT_CHANGED'
  | 'EDIT_NO_ANSWER'
  | 'EDIT_UNREADABLE'
  | 'EDIT_BROKEN_PATH'
  | 'EDIT_NO_SUCH_PATH'
  | 'EDIT_NOT_JSON'
  | 'EDIT_INVALID_ANSWER'

interface TapeErrorParts {
  readonly code: TapeErrorCode
  readonly what: string
  readonly why: string
  readonly fix: string
  readonly cause?: unknown
  readonly seq?: number
  readonly offset?: number
}

/** Any error of a tape: what happened, why, and how to fix it. */
export class TapeError extends Error {
  override readonly name = 'TapeError'
  readonly code: TapeErrorCode
  readonly what: string
  readonly why: string
  readonly fix: string
  /** The affected event, if there is one. */
  readonly seq: number | undefined
  /** Its byte offset in the file, if known. */
  readonly offset: number | undefined

  constructor(parts: TapeErrorParts) {
    super(
      `${parts.what} ${parts.why} ${parts.fix}`,
      parts.cause === undefined ? undefined : { cause: parts.cause },
    )
    this.code = parts.code
    this.what = parts.what
    this.why = parts.why
    this.fix = parts.fix
    this.seq = parts.seq
    this.offset = parts.offset
  }
}

const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

export const tapeMissing = (path: string, cause?: unknown): TapeError =>
  new TapeError({
    code: 'TAPE_MISSING',
    what: `There is no tape at ${path}.`,
    why: 'The file does not exist.',
    fix: 'Check the path; `retake list` shows the runs of this folder.',
    cause,
  })

export const tapeUnreadable = (path: string, cause: unknown): TapeError =>
  new TapeError({
    code: 'TAPE_UNREADABLE',
    what: `The tape ${path} cannot be read.`,
    why: `The system said: ${reason(cause)}.`,
    fix: 'Check the owner and permissions of the file. Tapes are private to the user who recorded them.',
    cause,
  })

export const tapeIsDirectory = (path: string): TapeError =>
  new TapeError({
    code: 'TAPE_IS_DIRECTORY',
    what: `${path} is a folder, not a tape.`,
    why: 'A tape is a single file.',
    fix: 'Name a file inside it; `retake list` shows the runs of a folder.',
  })

export const tapeEmpty = (path: string): TapeError =>
  new TapeError({
    code: 'TAPE_EMPTY',
    what: `The tape ${path} is empty.`,
    why: 'The recorder was killed before it wrote the first record.',
    fix: 'Delete the file and record the run again.',
  })

export const notATape = (path: string): TapeError =>
  new TapeError({
    code: 'TAPE_NOT_A_TAPE',
    what: `${path} is not a tape.`,
    why: 'It does not start with a run record.',
    fix: 'Check the path. `retake record`, `record()` and guards write tapes.',
  })

export const tapeWithoutRun = (path: string, bytes: number): TapeError =>
  new TapeError({
    code: 'TAPE_NO_RUN',
    what: `The tape ${path} ends inside its first record.`,
    why: `The recorder was killed after ${bytes} bytes, so even the run record is incomplete.`,
    fix: 'Nothing can be recovered. Delete the file and record the run again.',
  })

export const tapeCorrupt = (
  path: string,
  at: { readonly seq: number; readonly offset?: number },
  why: string,
  cause?: unknown,
): TapeError =>
  new TapeError({
    code: 'TAPE_CORRUPT',
    what: `The tape ${path} is corrupt at event ${at.seq}${
      at.offset === undefined ? '' : ` (byte ${at.offset})`
    }.`,
    why,
    fix: 'Restore the file from a copy, or run `retake verify` to see which part is intact. Nothing was changed.',
    cause,
    ...at,
  })

export const tapeFromFuture = (path: string, format: number, known: number): TapeError =>
  new TapeError({
    code: 'TAPE_FROM_FUTURE',
    what: `The tape ${path} was written by a newer Retake.`,
    why: `It has format ${format}; this version reads formats up to ${known}.`,
    fix: 'Update Retake (`npm install retake@latest`) and open it again.',
  })

export const tapeFromPast = (path: string, format: number, present: number): TapeError =>
  new TapeError({
    code: 'TAPE_FROM_PAST',
    what: `The tape ${path} was written by an older Retake and cannot be extended.`,
    why: `It has format ${format}, and this version writes format ${present}.`,
    fix: 'Use the version that recorded it, or fork it: a fork writes a new tape.',
  })

export const noSuchEvent = (path: string, seq: number, count: number): TapeError =>
  new TapeError({
    code: 'TAPE_NO_SUCH_EVENT',
    what: `The tape ${path} has no event ${seq}.`,
    why: `It has events 0 to ${count - 1}.`,
    fix: 'Use an event number in that range.',
    seq,
  })

export const valueTooLarge = (path: string, cause: unknown): TapeError =>
  new TapeError({
    code: 'TAPE_VALUE_TOO_LARGE',
    what: `A value on the tape ${path} cannot be shown.`,
    why: `It is too long or too deeply nested to be parsed: ${reason(cause)}.`,
    fix: 'Download its bytes instead. The rest of the tape can be read.',
    cause,
  })

export const tapeExists = (path: string, cause?: unknown): TapeError =>
  new TapeError({
    code: 'TAPE_EXISTS',
    what: `The tape ${path} already exists.`,
    why: 'A recording never overwrites another one.',
    fix: 'Choose another path, or delete the old tape first.',
    cause,
  })

export const tapeSealed = (path: string): TapeError =>
  new TapeError({
    code: 'TAPE_SEALED',
    what: `The tape ${path} is sealed and cannot be extended.`,
    why: 'The seal covers every record of a finished run.',
    fix: 'Fork the run: a fork writes a new tape.',
  })

export const tapeNotSealed = (path: string): TapeError =>
  new TapeError({
    code: 'TAPE_NOT_SEALED',
    what: `The tape ${path} cannot be packed.`,
    why: 'It has no seal: the run is still being recorded, or was killed.',
    fix: 'Wait until the run ends. The tape of a killed run cannot be packed, only read.',
  })

export const packFailed = (path: string, why: string): TapeError =>
  new TapeError({
    code: 'TAPE_WRITE_FAILED',
    what: `The packed tape ${path} failed verification.`,
    why,
    fix: 'Check the disk and try again. The original tape is unchanged.',
  })

export const tapeClosed = (path: string): TapeError =>
  new TapeError({
    code: 'TAPE_CLOSED',
    what: `The tape ${path} is closed.`,
    why: 'Its writer was already closed or sealed.',
    fix: 'Append before closing. `TapeWriter.reopen` continues an unsealed tape.',
  })

export const tapeWriteFailed = (path: string, cause: unknown): TapeError =>
  new TapeError({
    code: 'TAPE_WRITE_FAILED',
    what: `The tape ${path} could not be written.`,
    why: `The system said: ${reason(cause)}. Earlier events are intact; nothing was recorded after them.`,
    fix: 'Free disk space or check the disk, then run again. The part recorded so far can be read and replayed.',
    cause,
  })

export const tapeInUse = (path: string, pid: number): TapeError =>
  new TapeError({
    code: 'TAPE_IN_USE',
    what: `The tape ${path} is being written by another process.`,
    why: `Process ${pid} is recording or resuming it, and two writers would corrupt it.`,
    fix: `Wait until that process has ended. If it is not a Retake process, delete ${path}.lock.`,
  })

export const branchParentMissing = (path: string, parent: string, cause: unknown): TapeError =>
  new TapeError({
    code: 'BRANCH_PARENT_MISSING',
    what: `The tape ${path} is a branch, and its parent run is missing.`,
    why: `A branch has only the events after the fork; the rest is in ${parent}.`,
    fix: 'Restore the tape of the parent run at that path.',
    cause,
  })

export const branchParentChanged = (path: string, parent: string, seq: number): TapeError =>
  new TapeError({
    code: 'BRANCH_PARENT_CHANGED',
    what: `The tape ${path} is a branch, and its parent has changed.`,
    why: `The first ${seq} events of ${parent} are not the ones it was forked from.`,
    fix: 'Restore the tape of the parent run from a copy.',
  })

export const nothingToEdit = (what: string, why: string): TapeError =>
  new TapeError({
    code: 'EDIT_NO_ANSWER',
    what: `${what} has no answer that can be edited.`,
    why,
    fix: 'Choose another step; `retake show` lists them.',
  })

export const answerUnreadable = (label: string, coding: string): TapeError =>
  new TapeError({
    code: 'EDIT_UNREADABLE',
    what: `The answer of step ${label} cannot be read.`,
    why: `It is compressed with ${coding}, which Retake cannot decompress.`,
    fix: 'Replace the whole answer with `--response`.',
  })

export const brokenPath = (text: string, at: number): TapeError =>
  new TapeError({
    code: 'EDIT_BROKEN_PATH',
    what: `${JSON.stringify(text)} is not a path into a payload.`,
    why: `Syntax error at character ${at + 1}${at < text.length ? `: ${JSON.stringify(text.slice(at, at + 20))}` : ', the end'}.`,
    fix: 'Separate keys and indexes with dots, and add `=` and JSON: `choices.0.message.content="Hello"`. Quote keys that contain dots.',
  })

export const noSuchPath = (at: {
  readonly path: string
  readonly prefix: string
  readonly key: string
  readonly found: string
}): TapeError =>
  new TapeError({
    code: 'EDIT_NO_SUCH_PATH',
    what: `The payload has no ${at.path}.`,
    why: `${at.prefix === '' ? 'The payload' : at.prefix} is ${at.found}; it has no ${JSON.stringify(at.key)}.`,
    fix: 'Correct the path. To add a key to an object, use `--force`. To extend a list, replace the whole list.',
  })

export const valueNotJson = (path: string, json: string, cause: unknown): TapeError =>
  new TapeError({
    code: 'EDIT_NOT_JSON',
    what: `The new value of ${path} is not JSON.`,
    why: `Cannot parse ${JSON.stringify(json.slice(0, 60))}: ${reason(cause)}.`,
    fix: `Put text in double quotes, and the whole argument in single quotes: '${path}=${JSON.stringify(json)}'.`,
    cause,
  })

export const fileNotJson = (cause: unknown): TapeError =>
  new TapeError({
    code: 'EDIT_NOT_JSON',
    what: 'The new answer is not JSON.',
    why: `The recorded answer is JSON or a model message, so the new one must be JSON: ${reason(cause)}.`,
    fix: 'Correct the file.',
    cause,
  })

export const invalidAnswer = (problems: readonly string[]): TapeError =>
  new TapeError({
    code: 'EDIT_INVALID_ANSWER',
    what: 'The edited answer is not valid for this provider.',
    why: `${problems.join('; ')}.`,
    fix: 'Correct the edit, or use `--force` to test how the agent handles an invalid answer.',
  })

/** Fails on a bug in Retake itself, never because of the content of a tape. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`Bug in Retake: ${message}`)
}
