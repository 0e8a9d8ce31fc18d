/** Stable names of everything that can be wrong with a tape. */
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

/** Anything that goes wrong with a tape: what happened, why, and how to fix it. */
export class TapeError extends Error {
  override readonly name = 'TapeError'
  readonly code: TapeErrorCode
  readonly what: string
  readonly why: string
  readonly fix: string
  /** The event concerned, when there is one. */
  readonly seq: number | undefined
  /** Its byte offset in the file, when known. */
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
    fix: 'Tapes are private to the user who recorded them: check owner and permissions of the file.',
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
    why: 'The recorder was stopped before it wrote the first record.',
    fix: 'There is nothing to read in it: delete the file and record the run again.',
  })

export const notATape = (path: string): TapeError =>
  new TapeError({
    code: 'TAPE_NOT_A_TAPE',
    what: `${path} is not a tape.`,
    why: 'Its first line is not the record every tape starts with.',
    fix: 'Check the path; tapes are written by `retake record`, `record()` and guards.',
  })

export const tapeWithoutRun = (path: string, bytes: number): TapeError =>
  new TapeError({
    code: 'TAPE_NO_RUN',
    what: `The tape ${path} ends inside its first record.`,
    why: `Only ${bytes} bytes were written before the recorder was stopped, so not even the run record is whole.`,
    fix: 'There is nothing to recover: delete the file and record the run again.',
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
    fix: 'Nothing was changed. Restore the file from a copy, or run `retake verify` to see what is still whole.',
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
    what: `The tape ${path} was written by an older Retake; nothing can be added.`,
    why: `It has format ${format}; this version writes format ${present}, and a tape has one format.`,
    fix: 'Continue with the version that recorded it, or fork it: a fork writes a new tape.',
  })

export const noSuchEvent = (path: string, seq: number, count: number): TapeError =>
  new TapeError({
    code: 'TAPE_NO_SUCH_EVENT',
    what: `The tape ${path} has no event ${seq}.`,
    why: `It holds events 0 to ${count - 1}.`,
    fix: 'Ask for an event in that range.',
    seq,
  })

export const valueTooLarge = (path: string, cause: unknown): TapeError =>
  new TapeError({
    code: 'TAPE_VALUE_TOO_LARGE',
    what: `Something on the tape ${path} cannot be shown.`,
    why: `A value is nested too deeply, or is too long, to be taken apart: ${reason(cause)}.`,
    fix: 'Download its bytes instead; everything else on the tape can be read.',
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
    what: `The tape ${path} is sealed; nothing can be added.`,
    why: 'A sealed tape is finished, and its seal pins every record.',
    fix: 'To go on from it, fork it: a fork writes a new tape that names this one as its parent.',
  })

export const tapeNotSealed = (path: string): TapeError =>
  new TapeError({
    code: 'TAPE_NOT_SEALED',
    what: `The tape ${path} cannot be packed.`,
    why: 'It has no seal, so the run may still be recorded, or was killed.',
    fix: 'Wait until the run ends; a run that was killed has no seal and can only be read.',
  })

export const packFailed = (path: string, why: string): TapeError =>
  new TapeError({
    code: 'TAPE_WRITE_FAILED',
    what: `The packed tape ${path} did not read back as it was written.`,
    why,
    fix: 'Check the disk and try again; the tape it was made from is unchanged.',
  })

export const tapeClosed = (path: string): TapeError =>
  new TapeError({
    code: 'TAPE_CLOSED',
    what: `The tape ${path} is closed.`,
    why: 'Its writer was closed or sealed before.',
    fix: 'Append before closing; `TapeWriter.reopen` continues an unsealed tape.',
  })

export const tapeWriteFailed = (path: string, cause: unknown): TapeError =>
  new TapeError({
    code: 'TAPE_WRITE_FAILED',
    what: `The tape ${path} could not be written.`,
    why: `The system said: ${reason(cause)}. Everything recorded before is kept; nothing was recorded after.`,
    fix: 'Free disk space or check the disk, then run again; what was recorded so far can be read and replayed.',
    cause,
  })

export const tapeInUse = (path: string, pid: number): TapeError =>
  new TapeError({
    code: 'TAPE_IN_USE',
    what: `The tape ${path} is being written by another process.`,
    why: `Process ${pid} records or resumes it, and two writers would spoil it.`,
    fix: `Wait until that process has ended. If it cannot be a Retake process, delete ${path}.lock.`,
  })

export const branchParentMissing = (path: string, parent: string, cause: unknown): TapeError =>
  new TapeError({
    code: 'BRANCH_PARENT_MISSING',
    what: `The tape ${path} is a branch, and the run it goes on from is gone.`,
    why: `It holds only what came after the fork; the rest is in ${parent}.`,
    fix: 'Put the tape of the parent run back into that folder.',
    cause,
  })

export const branchParentChanged = (path: string, parent: string, seq: number): TapeError =>
  new TapeError({
    code: 'BRANCH_PARENT_CHANGED',
    what: `The tape ${path} is a branch, and its parent is not the run it was forked from.`,
    why: `The first ${seq} events of ${parent} are not the ones the branch was made with.`,
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
    why: `It is compressed as ${coding}, which this program cannot undo.`,
    fix: 'Give a whole answer with `--response` instead of a change to the recorded one.',
  })

export const brokenPath = (text: string, at: number): TapeError =>
  new TapeError({
    code: 'EDIT_BROKEN_PATH',
    what: `${JSON.stringify(text)} is no path into a payload.`,
    why: `It cannot be read from character ${at + 1} on${at < text.length ? `: ${JSON.stringify(text.slice(at, at + 20))}` : ', where it ends'}.`,
    fix: 'Write keys and indexes with dots between, then `=` and JSON, for example `choices.0.message.content="Hello"`; a key with dots goes in quotes.',
  })

export const noSuchPath = (at: {
  readonly path: string
  readonly prefix: string
  readonly key: string
  readonly found: string
}): TapeError =>
  new TapeError({
    code: 'EDIT_NO_SUCH_PATH',
    what: `There is no ${at.path} in the payload.`,
    why: `${at.prefix === '' ? 'The payload' : at.prefix} is ${at.found}; ${JSON.stringify(at.key)} is not in it.`,
    fix: 'Correct the path. Only an object can get a new key, as the last part of the path and with `--force`; a list is replaced as a whole.',
  })

export const valueNotJson = (path: string, json: string, cause: unknown): TapeError =>
  new TapeError({
    code: 'EDIT_NOT_JSON',
    what: `The new value of ${path} is not JSON.`,
    why: `It reads ${JSON.stringify(json.slice(0, 60))}: ${reason(cause)}.`,
    fix: `Text needs double quotes, and the shell needs single ones around it: '${path}=${JSON.stringify(json)}'.`,
    cause,
  })

export const fileNotJson = (cause: unknown): TapeError =>
  new TapeError({
    code: 'EDIT_NOT_JSON',
    what: 'The new answer is not JSON.',
    why: `The recorded answer is JSON, or a message of a model, and so must the new one be: ${reason(cause)}.`,
    fix: 'Correct the file.',
    cause,
  })

export const invalidAnswer = (problems: readonly string[]): TapeError =>
  new TapeError({
    code: 'EDIT_INVALID_ANSWER',
    what: 'The edited answer is one that this provider never gives.',
    why: `${problems.join('; ')}.`,
    fix: 'Correct the edit, or use `--force` to see how the agent takes an invalid answer.',
  })

/** A mistake in Retake itself: it must never happen, whatever a tape holds. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`Retake broke one of its own rules: ${message}`)
}
