import { Buffer } from 'node:buffer'
import type { KeyObject } from 'node:crypto'
import { eventJson } from '../format/codec.js'
import { SHORT_BODY_MAX_BYTES } from '../format/chain.js'
import { tapeErrors } from '../format/errors.js'
import {
  isGuardDraw,
  isHeavy,
  isLinkNote,
  linkNote,
  type NewEvent,
  type RunDetails,
  type RunEvent,
  TAPE_FORMAT,
} from '../format/events.js'
import { openLayout } from '../format/layout.js'
import { RecordEncoder, type SealSigner } from '../format/record-encoder.js'
import { Tape } from '../format/tape.js'
import { openFileSource } from './file-source.js'
import { createPublicKey, existsSync, monotonicMs, randomBytes, sign } from './native.js'
import { nodePlatform } from './node-platform.js'
import { TapeFile } from './tape-file.js'
import { creatorOf, TapeLock } from './tape-lock.js'

export interface TapeWriterOptions {
  /** Milliseconds since the run started. */
  readonly now?: () => number
  /**
   * `file`: marks a new tape by a lock file, as on systems other than Linux, and writes its run
   * record as given. For copies, whose hash chain must stay the same.
   */
  readonly lock?: 'file'
}

export interface SealOptions {
  /** Private ed25519 key that signs the seal. */
  readonly privateKey?: KeyObject | undefined
}

/** Open writers in this process whose tapes are synced. */
const syncing = new Set<TapeWriter>()

/**
 * Writes one tape. When `append` returns, the event is written to the file and survives the death
 * of the process. After `barrier` it survives the death of the machine, unless the run record says
 * otherwise. One tape has one writer: `TapeLock` refuses a second one.
 */
export class TapeWriter {
  readonly path: string
  readonly #file: TapeFile
  readonly #encoder: RecordEncoder
  readonly #now: () => number
  readonly #lock: TapeLock | undefined
  /** Set if receipts must be able to disclose single events of this tape. */
  readonly #links: SeparateLinks | undefined

  private constructor(
    file: TapeFile,
    lock: TapeLock | undefined,
    encoder: RecordEncoder,
    now: () => number,
    run: Pick<RunEvent, 'receipts'>,
  ) {
    this.path = file.path
    this.#links = run.receipts ? new SeparateLinks() : undefined
    this.#file = file
    this.#lock = lock
    this.#encoder = encoder
    this.#now = now
  }

  /** Starts a tape at a path that must not exist, and writes its run record. */
  static create(
    path: string,
    run: Omit<NewEvent<RunEvent>, 'format'>,
    details: RunDetails,
    options: TapeWriterOptions = {},
  ): TapeWriter {
    const { durability = 'machine' } = run
    const file = TapeFile.create(path, durability)
    const now = options.now ?? clockFrom(0)
    const own = options.lock === 'file' ? undefined : creatorOf(file.fd)
    const lock = own === undefined ? TapeLock.take(path) : undefined
    const writer = new TapeWriter(file, lock, new RecordEncoder(nodePlatform), now, run)
    const { type, durability: _, creator: given, ...rest } = run
    const creator = own ?? given
    const said = durability === 'machine' ? {} : { durability }
    const event = { type, format: TAPE_FORMAT, ...rest, ...said, ...(creator && { creator }) }
    try {
      const json = JSON.stringify(details)
      writer.append(event, Buffer.from(writer.#links ? paddedJson(json) : json))
    } catch (error) {
      writer.close()
      throw error
    }
    if (durability === 'machine') syncing.add(writer)
    return writer
  }

  /**
   * Continues a tape whose writer is gone: to resume the run, or to add an end and a seal. Cuts off
   * a torn tail. Refuses sealed and corrupt tapes.
   */
  static reopen(path: string, options: TapeWriterOptions = {}): TapeWriter {
    if (!existsSync(path)) throw tapeErrors.TAPE_MISSING(path)
    const lock = TapeLock.take(path)
    try {
      const layout = openLayout(nodePlatform, openFileSource(path), path)
      if (layout.status === 'sealed') throw tapeErrors.TAPE_SEALED(path)
      const { frames, end } = layout
      const tape = new Tape(nodePlatform, layout, path)
      const { durability = 'machine' } = tape.run
      const encoder = new RecordEncoder(nodePlatform)
      for (let seq = 0; seq < frames.count; seq++) {
        encoder.skip(frames.frame(seq), () => tape.storedBody(seq))
      }
      // The last few requests, oldest first: one per conversation that may continue.
      const requests: number[] = []
      for (let seq = tape.count - 1; seq > 0 && requests.length < 4; seq--)
        if (tape.event(seq).type === 'request') requests.unshift(seq)
      for (const seq of requests) encoder.skipRequest(seq, tape.storedBody(seq))
      const now = options.now ?? clockFrom(tape.event(tape.count - 1).at)
      const file = TapeFile.continueAt(path, end, durability)
      const writer = new TapeWriter(file, lock, encoder, now, tape.run)
      if (durability === 'machine') syncing.add(writer)
      return writer
    } catch (error) {
      lock.release()
      throw error
    }
  }

  /**
   * Writes an event and returns its number. The body may be reused after the call. `json` is the
   * serialised event, if the caller already has it.
   */
  append(event: NewEvent, body?: Uint8Array, json?: string): number {
    const seq = this.#encode(event, body, json)
    this.#flush()
    return seq
  }

  /**
   * Like `append`, but the event may stay in memory until `flush`, for many events that belong
   * together. Until then, its effects must not be visible. Every other method flushes.
   */
  buffer(event: NewEvent, body?: Uint8Array, json?: string): number {
    const seq = this.#encode(event, body, json)
    if (this.#encoder.isFull) this.#flush()
    return seq
  }

  /** Milliseconds since the run started, to the microsecond. */
  elapsed(): number {
    return Math.round(this.#now() * 1000) / 1000
  }

  /** Writes every buffered event to the file. */
  flush(): void {
    this.#flush()
  }

  /** Syncs everything appended so far to disk. Free if nothing was appended since the last call. */
  barrier(): void {
    this.#flush()
    this.#file.sync()
  }

  /**
   * Like `barrier` without blocking the event loop: calls `then` when everything appended so far is
   * on disk, or with the failure. Concurrent callers share a sync.
   */
  whenDurable(then: (failure?: Error) => void): void {
    this.#flush()
    this.#file.syncLater(then)
  }

  /** True if this process syncs no other tape, so that waiting for the disk delays no other run. */
  get isAlone(): boolean {
    return syncing.size <= 1
  }

  /** Number of events on the tape, which is the number of the next one. */
  get count(): number {
    return this.#encoder.seq
  }

  get syncs(): number {
    return this.#file.syncs
  }

  /** Finishes the tape: seal, index, sync, close. With a private ed25519 key the seal is signed. */
  seal(options: SealOptions = {}): void {
    this.#appendSeal(options)
    this.#file.sync()
    this.close()
  }

  /** Like `seal`, without blocking the event loop; calls `then` when the tape is sealed and on disk. */
  sealLater(options: SealOptions, then: (failure?: Error) => void): void {
    this.#appendSeal(options)
    this.#file.syncLater((failure) => {
      this.close()
      then(failure)
    })
  }

  /** Closes the file without a seal; `reopen` can continue it. */
  close(): void {
    syncing.delete(this)
    try {
      this.#flush()
    } catch {
      // The file is cut back to its last whole record, or closed.
    }
    this.#lock?.release()
    this.#file.close()
  }

  #appendSeal({ privateKey }: SealOptions): void {
    const signer = privateKey && ed25519Signer(privateKey)
    this.#file.append(this.#encoder.encodeSeal(this.elapsed(), signer))
  }

  #encode(event: NewEvent, body: Uint8Array | undefined, json: string | undefined): number {
    this.#file.check()
    const links = this.#links
    const at = this.elapsed()
    if (links?.isShared(event)) this.#encoder.encode(linkNote, at, undefined, saltedJson(linkNote))
    const { seq } = this.#encoder
    this.#encoder.encode(event, at, body, links ? saltedJson(event, json) : json)
    return seq
  }

  #flush(): void {
    if (this.#encoder.isEmpty) this.#file.check()
    else this.#file.append(this.#encoder.take())
  }
}

/**
 * A link covers light events directly: to disclose a heavy event, all light events of its link must
 * be disclosed. Decides where a note must end a link, so that a heavy event shares its link only
 * with the decision of a guard about it.
 */
class SeparateLinks {
  #hasLights = true

  isShared(event: NewEvent): boolean {
    const isAlone = isHeavy(event.type) || isGuardDraw(event)
    // A copy of a tape already has its notes.
    const isShared = isAlone && this.#hasLights && event.type !== 'run' && !isLinkNote(event)
    this.#hasLights = !isAlone
    return isShared
  }
}

const SALT_BYTES = 16

/** Adds a salt to heavy events, so that a hidden one cannot be guessed by comparing hashes. */
function saltedJson(event: NewEvent, json?: string): string | undefined {
  if (!isHeavy(event.type)) return json
  const salt = randomBytes(SALT_BYTES).toString('base64url')
  // Events of a copied tape have a salt, which is not reused.
  const { salt: _, ...rest } = event
  const unsalted = json ?? eventJson(rest)
  return `${unsalted.slice(0, -1)},"salt":"${salt}"}`
}

/**
 * Details that a receipt can hide: long enough to be linked by their hash, with random white space
 * at the end, so that the hash cannot be guessed.
 */
function paddedJson(json: string): string {
  const length = Math.max(4 * SALT_BYTES, SHORT_BODY_MAX_BYTES + 1 - Buffer.byteLength(json))
  return json + Array.from(randomBytes(length), (byte) => ' \t\n\r'[byte % 4]).join('')
}

function clockFrom(startMs: number): () => number {
  const origin = monotonicMs() - startMs
  return () => monotonicMs() - origin
}

function ed25519Signer(privateKey: KeyObject): SealSigner {
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' })
  const key = Buffer.from(x ?? '', 'base64url').toString('base64')
  return (message) => ({ key, signature: sign(null, message, privateKey).toString('base64') })
}
