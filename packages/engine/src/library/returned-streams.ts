import { Readable } from 'node:stream'
import { encodeBody, fromWire, toWire } from '@retake/tape/format'
import { asFromNetwork } from '../boundaries/network/fetch.js'
import { define } from '../boundaries/patching/patch.js'
import { maskHeaders } from '../headers.js'
import { natives } from '../kernel/natives.js'
import type { Operation, Session } from '../kernel/session.js'

/**
 * Streams that a run returns: a `Response` with a body, a `ReadableStream`, a Node `Readable`, an
 * async iterator, alone or inside plain objects and arrays. The code that reads them is outside the
 * run. Each read and the cancellation are therefore deliveries: they reach the source through the
 * gate, in the run's async context, and a replay repeats them at the recorded moments. Chunks of
 * the source are written to the tape and compared on replay.
 */
export class ReturnedStreams {
  readonly #session: Session
  readonly #streams: ReturnedStream[] = []
  readonly #show: () => unknown
  readonly recorded: unknown

  /** Must be called inside the run. */
  constructor(session: Session, output: unknown) {
    this.#session = session
    const wrapped = this.#wrap(output, 0)
    this.#show = wrapped.show
    this.recorded = wrapped.recorded
  }

  get isEmpty(): boolean {
    return this.#streams.length === 0
  }

  /** Resolves when every stream has ended, failed or been cancelled; with the first failure, if any. */
  async closed(): Promise<{ readonly error: unknown } | undefined> {
    const failures = await Promise.all(this.#streams.map((stream) => stream.closed))
    return failures.find((failure) => failure !== undefined)
  }

  /**
   * The output for the caller. Must be called outside the run, so that readers get their own async
   * context.
   */
  shown(): unknown {
    return this.#show()
  }

  /** Reads every stream to its end. The content stays available to readers of `shown`. */
  async drain(): Promise<void> {
    await Promise.all(this.#streams.map((stream) => stream.drain()))
  }

  #wrap(value: unknown, depth: number): Wrapped {
    if (typeof value !== 'object' || value === null) return asIs(value)
    if (isResponse(value)) return this.#wrapResponse(value)
    if (isReadableStream(value)) return value.locked ? asIs(value) : this.#wrapWebStream(value)
    if (value instanceof Readable) return value.destroyed ? asIs(value) : this.#wrapReadable(value)
    if (isAsyncIterable(value))
      return isIterator(value) ? this.#wrapIterator(value) : this.#wrapIterable(value)
    if (depth >= DEPTH_MAX || !isPlain(value)) return this.#passThrough(value)
    const members = Object.entries(value).map(([key, member]): [string, Wrapped] => [
      key,
      this.#wrap(member, depth + 1),
    ])
    if (members.every(([, { isStream }]) => !isStream)) return asIs(value)
    const rebuild = (of: (wrapped: Wrapped) => unknown): unknown =>
      Array.isArray(value)
        ? members.map(([, wrapped]) => of(wrapped))
        : Object.fromEntries(members.map(([key, wrapped]) => [key, of(wrapped)]))
    return {
      isStream: true,
      recorded: rebuild(({ recorded }) => recorded),
      show: () => rebuild(({ show }) => show()),
    }
  }

  /**
   * Passes an object through. One that may create streams later is reported, because these are not
   * captured.
   */
  #passThrough(value: object): Wrapped {
    let text: string | undefined
    if (STREAM_MEMBERS.some((name) => name in value))
      text =
        'its streams are read after the end of the run; return `result.toUIMessageStreamResponse()` or a stream, or read it inside the run'
    else if (tagOf(value) === '[object Generator]')
      text =
        'what a synchronous generator does after the end of the run is not captured; return an array or an async generator'
    const note = { kind: 'boundary', name: 'returned value', consequence: 'not-on-tape' } as const
    if (text !== undefined) this.#session.note({ ...note, text })
    return asIs(value)
  }

  #wrapResponse(response: Response): Wrapped {
    const { body, status, statusText, headers, url, redirected, type } = response
    if (body === null || body.locked) return asIs(response)
    const contentType = headers.get('content-type')
    const title = `${status}${contentType === null ? '' : ` ${contentType}`}`
    const { show } = this.#wrapWebStream(body, 'Response', title)
    const Constructor = response.constructor as typeof Response
    return {
      isStream: true,
      recorded: { status, statusText, headers: maskHeaders(this.#session, headers) },
      show: () => {
        const shown = new Constructor(show() as ReadableStream, {
          status,
          statusText,
          headers: new Headers(headers),
        })
        return url === '' ? shown : asFromNetwork(shown, { url, redirected, type })
      },
    }
  }

  #wrapWebStream(source: ReadableStream, name = 'ReadableStream', title?: string): Wrapped {
    const isBytes = isByteStream(source)
    const reader = source.getReader()
    const stream = this.#add(name, title, {
      next: () => reader.read(),
      cancel: (reason) => reader.cancel(reason),
    })
    return wrappedStream(name, () => {
      const pull = async (controller: ReadableStreamDefaultController): Promise<void> => {
        // A byte stream refuses empty chunks.
        for (;;) {
          const { done, value } = await stream.next()
          if (done === true) return controller.close()
          if (isBytes && (value as Uint8Array).byteLength === 0) continue
          return controller.enqueue(value)
        }
      }
      const cancel = (reason: unknown): Promise<void> => stream.cancel(reason)
      // Without a queue of its own, the source is read exactly when the reader requests a chunk.
      const shown = isBytes
        ? new ReadableStream({ type: 'bytes', pull: pull as never, cancel })
        : new ReadableStream({ pull, cancel }, { highWaterMark: 0 })
      return stream.watch(shown)
    })
  }

  #wrapReadable(source: Readable): Wrapped {
    const iterator = source.iterator()
    const stream = this.#add('Readable', undefined, {
      next: () => iterator.next(),
      cancel: (reason) => void source.destroy(reason instanceof Error ? reason : undefined),
    })
    return wrappedStream('Readable', () => {
      const shown: Readable = new Readable({
        objectMode: source.readableObjectMode,
        highWaterMark: source.readableHighWaterMark,
        ...(source.readableEncoding !== null && { encoding: source.readableEncoding }),
        read: () =>
          void stream.next().then(
            ({ done, value }) => shown.push(done === true ? null : value),
            (error: unknown) => shown.destroy(error as Error),
          ),
        destroy: (error, callback) => void cancelThen(stream, error, callback),
      })
      return stream.watch(shown)
    })
  }

  #wrapIterator(source: AsyncIterableIterator<unknown>): Wrapped {
    const stream = this.#add('async iterator', undefined, {
      next: () => source.next(),
      cancel: (reason) => source.return?.(reason),
    })
    const prototype = Object.getPrototypeOf(source) as object
    return wrappedStream('async iterator', () =>
      stream.watch(readingIterator(stream, Object.create(prototype) as object)),
    )
  }

  /**
   * For an instance of a class: its other members may need private fields, so it must stay the same
   * object.
   */
  #wrapIterable(source: AsyncIterable<unknown>): Wrapped {
    const stream = this.#add('async iterable', undefined, iterableSource(new WeakRef(source)))
    stream.watch(source)
    define(source, { [Symbol.asyncIterator]: () => readingIterator(stream, {}) })
    return wrappedStream('async iterable', () => source)
  }

  #add(name: string, title: string | undefined, source: Source): ReturnedStream {
    const stream = new ReturnedStream(this.#session, source, name, title)
    this.#streams.push(stream)
    return stream
  }
}

/** A value of the output, as stored on the tape and as returned to the caller. */
interface Wrapped {
  readonly isStream: boolean
  readonly recorded: unknown
  readonly show: () => unknown
}

interface Source {
  next(): Promise<ReadResult>
  cancel(reason: unknown): unknown
}

interface Reader {
  readonly resolve: (result: ReadResult) => void
  readonly reject: (error: unknown) => void
}

type ReadResult = IteratorResult<unknown, unknown>
type ReadOutcome = { readonly result: ReadResult } | { readonly error: unknown }

const DEPTH_MAX = 4

/** Cancels the source of a stream that was dropped unread, so that its run can end. */
const dropped = new natives.FinalizationRegistry<ReturnedStream>((stream) => {
  void stream.cancel(undefined)
})

/** One stream: readers outside the run on one side, its source inside the run on the other. */
class ReturnedStream {
  readonly closed: Promise<{ readonly error: unknown } | undefined>
  readonly #source: Source
  readonly #session: Session
  readonly #operation: Operation
  #close: (failure?: { readonly error: unknown }) => void = () => {}
  /** Set while readers are live; on replay the tape says when to read. */
  #live: Operation | undefined
  /** Reads that have reached the source and are not answered yet. */
  #reading = 0
  #isCancelled = false
  readonly #readers: Reader[] = []
  /** Chunks that were read before a reader requested them. */
  readonly #results: ReadOutcome[] = []
  #isOver = false

  constructor(session: Session, source: Source, name: string, title: string | undefined) {
    this.#session = session
    this.#source = source
    this.closed = new Promise((resolve) => (this.#close = resolve))
    this.#operation = session.perform({
      event: {
        type: 'call',
        kind: 'input',
        name: `reads of the returned ${name}`,
        ...(title !== undefined && { title }),
      },
      lasting: true,
      start: (operation) => {
        // ── the source, inside the run ────────────────────────────────────────────
        this.#live = operation
        for (let unread = this.#readers.length - this.#reading; unread > 0; unread -= 1)
          operation.complete({ type: 'deliver', part: 'read' })
      },
      deliver: (delivery) => {
        const { event } = delivery
        if (event.type !== 'deliver') return
        if (event.part === 'read') void this.#read()
        else if (event.part === 'cancel') void this.#cancel(fromWire(event.value))
      },
    })
  }

  // ── readers, outside the run ──────────────────────────────────────────────

  next(): Promise<ReadResult> {
    const known = this.#results.shift()
    if (known !== undefined)
      return 'error' in known ? Promise.reject(known.error) : Promise.resolve(known.result)
    if (this.#isOver) return Promise.resolve(DONE)
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject })
      this.#live?.complete({ type: 'deliver', part: 'read' })
    })
  }

  /** Resolves when the source has finished its clean-up. */
  async cancel(reason: unknown): Promise<void> {
    if (this.#isOver) return
    this.#live?.complete({
      type: 'deliver',
      part: 'cancel',
      ...(reason !== undefined && { value: toWire(reason) }),
    })
    await this.closed
  }

  async drain(): Promise<void> {
    const results: ReadOutcome[] = []
    for (;;) {
      try {
        const result = await this.next()
        results.push({ result })
        if (result.done === true) break
      } catch (error) {
        results.push({ error })
        break
      }
    }
    this.#results.push(...results)
  }

  /** Ends the run when `shown` is garbage-collected unread, so nothing here may refer to it. */
  watch<T extends object>(shown: T): T {
    dropped.register(shown, this)
    return shown
  }

  async #read(): Promise<void> {
    this.#reading += 1
    try {
      const result = await this.#source.next()
      this.#reading -= 1
      if (this.#isOver) return
      const { value } = result
      if (value instanceof Uint8Array) this.#session.write(this.#operation, value)
      else if (value !== undefined) {
        const { as, body } = encodeBody(value)
        this.#session.write(this.#operation, body, as)
      }
      // The end of a cancelled source is the end of its cleanup.
      if (result.done === true && this.#isCancelled) return
      if (result.done === true) this.#end()
      const reader = this.#readers.shift()
      if (reader) reader.resolve(result)
      else this.#results.push({ result })
      if (result.done === true) this.#endReaders()
    } catch (error) {
      if (this.#isOver || this.#isCancelled) return
      const reader = this.#readers.shift()
      if (reader) reader.reject(error)
      else this.#results.push({ error })
      this.#end({ error })
      this.#endReaders()
    }
  }

  async #cancel(reason: unknown): Promise<void> {
    if (this.#isOver) return
    this.#isCancelled = true
    try {
      await this.#source.cancel(reason)
      this.#end()
    } catch (error) {
      this.#end({ error })
    }
    this.#endReaders()
  }

  #end(failure?: { readonly error: unknown }): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#operation.close()
    this.#close(failure)
  }

  #endReaders(): void {
    for (const { resolve } of this.#readers.splice(0)) resolve(DONE)
  }
}

const DONE: ReadResult = { done: true, value: undefined }

/** Creates the iterator at the first read. Until then nothing here keeps the object alive; see `watch`. */
function iterableSource(source: WeakRef<AsyncIterable<unknown>>): Source {
  const iterate = (source.deref() as AsyncIterable<unknown>)[Symbol.asyncIterator]
  let iterator: AsyncIterator<unknown> | undefined
  return {
    next: () => (iterator ??= iterate.call(source.deref() as AsyncIterable<unknown>)).next(),
    cancel: (reason) => iterator?.return?.(reason),
  }
}

/** Makes `target` an iterator whose reads reach the source of `stream`. */
function readingIterator(stream: ReturnedStream, target: object): object {
  return define(target, {
    next: () => stream.next(),
    return: async (value?: unknown) => {
      await stream.cancel(value)
      return { done: true, value }
    },
    throw: async (error?: unknown) => {
      await stream.cancel(undefined)
      throw error
    },
    [Symbol.asyncIterator]: () => target,
  })
}

async function cancelThen(
  stream: ReturnedStream,
  error: Error | null,
  callback: (error: Error | null) => void,
): Promise<void> {
  await stream.cancel(error ?? undefined)
  callback(error)
}

const asIs = (value: unknown): Wrapped => ({ isStream: false, recorded: value, show: () => value })

const wrappedStream = (name: string, show: () => unknown): Wrapped => ({
  isStream: true,
  recorded: { stream: name },
  show,
})

/** Compares tags, because frameworks replace the global class with subclasses and look-alikes. */
const isResponse = (value: object): value is Response =>
  tagOf(value) === '[object Response]' && 'body' in value && 'status' in value

const isReadableStream = (value: object): value is ReadableStream =>
  tagOf(value) === '[object ReadableStream]' && 'getReader' in value

const isAsyncIterable = (value: object): value is AsyncIterable<unknown> =>
  typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function'

const isIterator = (value: AsyncIterable<unknown>): value is AsyncIterableIterator<unknown> =>
  typeof (value as Partial<AsyncIterator<unknown>>).next === 'function'

const tagOf = (value: object): string => Object.prototype.toString.call(value)

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Members of an AI SDK result whose streams start when they are first read. */
const STREAM_MEMBERS = ['textStream', 'fullStream', 'partialObjectStream']

/** Only a byte stream has readers that bring their own buffer. */
function isByteStream(stream: ReadableStream): boolean {
  try {
    stream.getReader({ mode: 'byob' }).releaseLock()
    return true
  } catch {
    return false
  }
}
