/** Optional parts of an error: lines below its message; the event of a tape and its byte offset. */
export interface ErrorDetails extends ErrorOptions {
  readonly details?: readonly string[]
  /** Numbers that the texts name, for code that handles the error. */
  readonly figures?: Readonly<Record<string, number>>
  readonly seq?: number
  readonly offset?: number
}

type ErrorText = readonly [what: string, why: string, fix: string, options?: ErrorDetails]

/** An error with a stable code that says what happened, why, and what to do about it. */
export class CodedError extends Error {
  /** Set only if there are any, because agents may see and record the error. */
  declare readonly figures?: Readonly<Record<string, number>>

  constructor(
    readonly code: string,
    readonly what: string,
    readonly why: string,
    readonly fix: string,
    { cause, details = [], figures }: ErrorDetails = {},
  ) {
    super([`${what} ${why} ${fix}`, ...details].join('\n'), cause === undefined ? {} : { cause })
    if (figures !== undefined) this.figures = figures
  }
}

/** An error of any package but the tape. */
export class RetakeError extends CodedError {
  override readonly name: string = 'RetakeError'
}

/**
 * An error of a tape. Not a `RetakeError`: it names the path of the tape, which the team server
 * must not show to its users.
 */
export class TapeError extends CodedError {
  override readonly name = 'TapeError'
  readonly seq: number | undefined
  /** Its byte offset in the file, if known. */
  readonly offset: number | undefined

  constructor(code: string, ...[what, why, fix, options]: ErrorText) {
    super(code, what, why, fix, options)
    this.seq = options?.seq
    this.offset = options?.offset
  }
}

/**
 * Turns a table of texts by code into functions that make the errors. An error among their
 * arguments becomes the cause.
 */
export function errorTable<
  Table extends Readonly<Record<string, (...values: never[]) => ErrorText>>,
  Made extends CodedError = RetakeError,
>(
  table: Table,
  Made: new (code: string, ...text: ErrorText) => Made = RetakeError as never,
): { readonly [Code in keyof Table]: (...values: Parameters<Table[Code]>) => Made } {
  const factories = Object.entries(table).map(([code, text]) => [
    code,
    (...values: never[]) => {
      const [what, why, fix, options] = text(...values)
      const cause: unknown = values.find((value: unknown) => value instanceof Error)
      return new Made(code, what, why, fix, { cause, ...options })
    },
  ])
  return Object.fromEntries(factories) as ReturnType<typeof errorTable<Table, Made>>
}

/** The message of an error; `fetch failed` alone is not helpful, so its cause is used instead. */
export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  const shown = error.message === 'fetch failed' && cause instanceof Error ? cause : error
  // If a name has several addresses, the message is empty.
  return shown.message || (shown as { code?: string }).code || shown.name
}

export const tapeErrors = errorTable(
  {
    TAPE_MISSING: (path: string, _cause?: unknown) => [
      `There is no tape at ${path}.`,
      'The file does not exist.',
      'Check the path; `retake list` shows the runs of this folder.',
    ],
    TAPE_UNREADABLE: (path: string, cause: unknown) => [
      `The tape ${path} cannot be read.`,
      `The system said: ${reason(cause)}.`,
      'Check the owner and permissions of the file. Tapes are private to the user who recorded them.',
    ],
    TAPE_IS_DIRECTORY: (path: string) => [
      `${path} is a folder, not a tape.`,
      'A tape is a single file.',
      'Pass a file inside it; `retake list` shows the runs in a folder.',
    ],
    TAPE_EMPTY: (path: string) => [
      `The tape ${path} is empty.`,
      'The recorder was killed before it wrote the first record.',
      'Delete the file and record the run again.',
    ],
    TAPE_NOT_A_TAPE: (path: string) => [
      `${path} is not a tape.`,
      'It does not start with a run record.',
      'Check the path. `retake record`, `record()` and guards write tapes.',
    ],
    TAPE_NO_RUN: (path: string, bytes: number) => [
      `The tape ${path} ends inside its first record.`,
      `The recorder was killed after ${bytes} bytes, so even the run record is incomplete.`,
      'Nothing can be recovered. Delete the file and record the run again.',
    ],
    TAPE_CORRUPT: (
      path: string,
      at: { readonly seq: number; readonly offset?: number },
      why: string,
      _cause?: unknown,
    ) => [
      `The tape ${path} is corrupt at event ${at.seq}${
        at.offset === undefined ? '' : ` (byte ${at.offset})`
      }.`,
      why,
      'Restore the file from a copy, or run `retake verify` to see which part is intact. Nothing was changed.',
      at,
    ],
    TAPE_FROM_FUTURE: (path: string, format: number, known: number) => [
      `The tape ${path} was written by a newer Retake.`,
      `It has format ${format}; this version reads formats up to ${known}.`,
      'Update Retake (`npm install retake@latest`) and open it again.',
    ],
    TAPE_NO_SUCH_EVENT: (path: string, seq: number, count: number) => [
      `The tape ${path} has no event ${seq}.`,
      `It has events 0 to ${count - 1}.`,
      'Use an event number in that range.',
      { seq },
    ],
    TAPE_VALUE_TOO_LARGE: (path: string, cause: unknown) => [
      `A value on the tape ${path} cannot be shown.`,
      `It is too long, too deeply nested, or not in a form that Retake writes: ${reason(cause)}.`,
      'Download its bytes instead. The rest of the tape can be read.',
    ],
    TAPE_EXISTS: (path: string, _cause?: unknown) => [
      `The tape ${path} already exists.`,
      'A recording never overwrites another one.',
      'Choose another path, or delete the old tape first.',
    ],
    TAPE_SEALED: (path: string) => [
      `The tape ${path} is sealed and cannot be extended.`,
      'The seal covers every record of a finished run.',
      'Fork the run: a fork writes a new tape.',
    ],
    TAPE_CLOSED: (path: string) => [
      `The tape ${path} is closed.`,
      'Its writer was already closed or sealed.',
      'Append before closing. `TapeWriter.reopen` continues an unsealed tape.',
    ],
    TAPE_WRITE_FAILED: (path: string, cause: unknown) => [
      `The tape ${path} could not be written.`,
      `The system said: ${reason(cause)}. Earlier events are intact; nothing was recorded after them.`,
      (cause as { readonly code?: string } | undefined)?.code === 'ERR_ACCESS_DENIED'
        ? "Node's permission model forbids it. Add --durability process and --node-arg=--allow-fs-write=<folder of the tape>, then run again."
        : 'Free disk space or check the disk, then run again. The part recorded so far can be read and replayed.',
    ],
    TAPE_IN_USE: (path: string, pid: number) => [
      `The tape ${path} is being written by another process.`,
      `Process ${pid} is recording or resuming it, and two writers would corrupt it.`,
      `Wait until that process has ended. If it is not a Retake process, delete ${path}.lock.`,
      { figures: { pid } },
    ],
    BRANCH_PARENT_MISSING: (path: string, parent: string, _cause: unknown) => [
      `The tape ${path} is a branch, and its parent run is missing.`,
      `A branch has only the events after the fork; the rest is in ${parent}.`,
      'Restore the tape of the parent run at that path.',
    ],
    BRANCH_PARENT_CHANGED: (path: string, parent: string, seq: number) => [
      `The tape ${path} is a branch, and its parent has changed.`,
      `The first ${seq} events of ${parent} are not the ones it was forked from.`,
      'Restore the tape of the parent run from a copy.',
    ],
    EDIT_NO_ANSWER: (what: string, why: string) => [
      `${what} has no answer that can be edited.`,
      why,
      'Choose another step; `retake show` lists them.',
    ],
    EDIT_UNREADABLE: (label: string, coding: string) => [
      `The answer of step ${label} cannot be read.`,
      `It is compressed with ${coding}, which Retake cannot decompress.`,
      'Replace the whole answer with `--response`.',
    ],
    EDIT_BROKEN_PATH: (text: string, at: number) => [
      `${JSON.stringify(text)} is not a path into a payload.`,
      `Syntax error at character ${at + 1}${at < text.length ? `: ${JSON.stringify(text.slice(at, at + 20))}` : ', the end'}.`,
      'Separate keys and indexes with dots, and add `=` and JSON: `choices.0.message.content="Hello"`. Quote keys that contain dots.',
    ],
    EDIT_NO_SUCH_PATH: (at: {
      readonly path: string
      readonly prefix: string
      readonly key: string
      readonly found: string
    }) => [
      `The payload has no ${at.path}.`,
      `${at.prefix === '' ? 'The payload' : at.prefix} is ${at.found}; it has no ${JSON.stringify(at.key)}.`,
      'Correct the path. To add a key to an object, use `--force`. To extend a list, replace the whole list.',
    ],
    /** `value`: one value of a path; otherwise, the whole answer. */
    EDIT_NOT_JSON: (cause: unknown, value?: { readonly path: string; readonly json: string }) => [
      value ? `The new value of ${value.path} is not JSON.` : 'The new answer is not JSON.',
      value
        ? `Cannot parse ${JSON.stringify(value.json.slice(0, 60))}: ${reason(cause)}.`
        : `The recorded answer is JSON or a model message, so the new one must be JSON: ${reason(cause)}.`,
      value
        ? `Put text in double quotes, and the whole argument in single quotes: '${value.path}=${JSON.stringify(value.json)}'.`
        : 'Correct the file.',
    ],
    EDIT_INVALID_ANSWER: (problems: readonly string[]) => [
      'The edited answer is not valid for this provider.',
      `${problems.join('; ')}.`,
      'Correct the edit, or use `--force` to test how the agent handles an invalid answer.',
    ],
  },
  TapeError,
)

/** Fails on a bug in Retake itself, never because of the content of a tape. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`Bug in Retake: ${message}`)
}
