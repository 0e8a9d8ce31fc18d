import type { NewEvent, NoteEvent, Tape } from '@retake/tape/format'

/**
 * Keeps secrets and personal data off a tape: each is replaced by a placeholder, in everything that
 * is written, and in everything that is compared with the tape. Port; implemented by `SecretMask` in
 * `secrets/secrets.ts`.
 */
export interface Mask {
  /** The same without personal data. */
  readonly unredacted: Mask
  /** Key for digests of data that a redacted run sends; undefined if they need none. */
  readonly digestKey: Uint8Array | undefined
  /** True if the program gets pseudonyms, so that its digests differ from the recorded ones. */
  readonly isStructural: boolean
  /** True if the tape has no readable output to compare. */
  readonly hidesOutput: boolean
  /** Puts the secrets that a served program got into its recorded answers. */
  readonly given: {
    event<E extends object>(event: E): E
    body(tape: Tape, seq: number): Uint8Array
  }
  text(text: string): string
  /** Bytes that the program made. */
  bytes(bytes: Uint8Array): Uint8Array
  /**
   * The body of an event as stored on the tape. Pieces of a stream must come in order. `origin`:
   * for an answer, the operation that it answers.
   */
  body(event: NewEvent, bytes: Uint8Array, origin?: Origin): Uint8Array
  /** A value whose name is certain, such as that of a header. */
  named(name: string, value: string): string
  /** A digest that the program sends or receives. */
  digest(value: string): string
  /** Arguments of a program. */
  arguments(given: readonly string[], program?: string): string[]
  /** Values that a program passes to a statement. */
  parameters(sql: string, values: unknown): unknown
  hide(value: string): void
  learnHeader(name: string, value: string): void
  /** Variables of a child process, as `NAME=value`. */
  learnEnvironment(pairs: readonly string[]): void
  learnFile(file: string, text: string): void
  /** Puts the secrets of this process into a text of a tape. */
  reveal(text: string): string
  /** True if what the program does now, masked, is what was recorded. */
  isSame(recorded: Uint8Array, current: Uint8Array): boolean
  /** Hides the secrets of a served part of the same run behind the same placeholders. */
  takeOver(served: Mask): void
}

/** The operation that an answer belongs to. */
export interface Origin {
  readonly type: string
  readonly kind?: string
}

/** A note that a mask adds to the tape. */
export interface MaskNote {
  readonly note: NewEvent<NoteEvent>
  readonly body: Uint8Array
}

/** What a recording writes. Port; implemented by `TapeMask` in `secrets/tape-mask.ts`. */
export interface RecordingMask {
  readonly values: Mask
  /** An event with its errors, values and facts of guards as stored. */
  members<E extends object>(event: E): E
  /** A body as stored; the same object if it contains nothing to hide. */
  body(event: NewEvent, body: Uint8Array, origin?: Origin): Uint8Array
  /** Proves on this machine what a body contained that is stored in another form. */
  proofOf(body: Uint8Array): string | undefined
  /** Notes to write together with `event`, before it. */
  notesBefore(event: NewEvent): readonly MaskNote[]
  /** The event with fingerprints of the values that were hidden since the last one. */
  fingerprinted(event: NewEvent): NewEvent
  /** Called with the number of each event that was written. */
  written(event: NewEvent, seq: number): void
}
