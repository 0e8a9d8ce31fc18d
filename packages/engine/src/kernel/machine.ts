import type { EnvironmentRead, EnvironmentReads, FileBefore, Tape } from '@retake/tape/format'

/** Variables as a program sees them. Values that it sets itself are neither recorded nor served. */
export interface Environment {
  get(name: string): string | undefined
  names(): readonly string[]
  set(name: string, value: string): void
  delete(name: string): void
  /** Current values. Does not count as a read: for Node itself, which copies all of them to each child. */
  peek(name: string): string | undefined
  peekNames(): readonly string[]
  /** True if it was read or set before, so that another read is not recorded. */
  knows(name: string): boolean
  /**
   * Values that the program may have used as a password. While served, only those that differ from
   * the recording: with the recorded value, recorded answers fit as they are.
   */
  possiblePasswords(): Iterable<string>
}

/** Variables from a tape. */
export interface ServedVariables extends Environment {
  /** Secrets for which only the placeholder was available. */
  readonly placeholders: readonly string[]
}

/** Variables of this process, each recorded when it is first read. */
export interface RecordedVariables extends Environment {
  /** Continues after the served part of the same run. */
  takeOver(served: ServedVariables): void
}

/** Gives a served run the secrets in its files. */
export interface FileSecrets {
  /** Files for which the program got placeholders. */
  readonly placeholders: ReadonlySet<string>
  /**
   * The content on disk instead of the recorded content, if they differ only in placeholders.
   * `content` returns it and registers its secrets; undefined if it cannot be read.
   */
  reveal(
    file: { readonly title: string; readonly content: () => Uint8Array | undefined },
    proof: string,
    recorded: Uint8Array,
  ): Uint8Array
}

/**
 * This machine as one session sees it. Port; implemented in `session-ports.ts`. The overlay of a branch
 * is a part of it that only boundaries use, so a session passes it on as an opaque object.
 */
export interface Machine {
  recordedVariables(options: {
    /** Writes the variables that were read to the tape. */
    readonly onRead: (reads: EnvironmentReads) => void
    /** Called if a variable that the run has read changes without being set by the run. */
    readonly onChanged: (name: string) => void
  }): RecordedVariables
  servedVariables(
    tape: Tape,
    options: {
      /** True if the run goes live after the tape. */
      readonly isContinued: boolean
      readonly until?: number | undefined
      /** The read of a variable, if it is near; undefined if the whole tape must be searched. */
      readonly look: (name: string) => EnvironmentRead | undefined
    },
  ): ServedVariables
  servedFiles(isContinued: boolean): FileSecrets
  /** Writes the bytes of a write that are missing from its file. */
  readonly finishWrite: (before: FileBefore, body: Uint8Array, written: number) => void
  /** True if input can arrive on stdin. */
  readonly hasInput: () => boolean
  /** False while Node loads a module in another thread: for the agent, that takes no time. */
  readonly mayRun: () => boolean
  /** True while the program itself is being loaded, so that it cannot be waiting for an answer. */
  readonly isLoading: () => boolean
}
