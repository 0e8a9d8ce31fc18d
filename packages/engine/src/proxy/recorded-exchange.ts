import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { recordError } from '@retake/tape/format'
import type { HeaderPair, RecordedError } from '@retake/tape/format'
import { breakOff } from './break-off.js'
import { clientGone, upstreamFailure } from './exchange-failure.js'
import type { Showing } from './outbox.js'
import { answerError } from './proxy-error.js'
import { endToEnd, forwardedHeaders, headerPairs } from './proxy-request.js'
import { HEADER_BYTES_MAX } from './proxy-server.js'
import type { RecordingProxy } from './recording-proxy.js'
import { errors } from '../errors.js'

interface Forwarded {
  readonly method: string
  readonly url: URL
  readonly pairs: readonly HeaderPair[]
  readonly body: Buffer
}

/** Parts of an answer that are shown together. */
interface Unseen extends Showing {
  readonly chunks: Buffer[]
  ending?: () => void
}

/**
 * One request on its way upstream, and its answer on the way back. Ends exactly
 * once. What arrives is held for the tape at once, and shown to the client when
 * the tape has it.
 */
export class RecordedExchange {
  onDone: () => void = () => {}
  #upstream: ClientRequest | undefined
  #answer: IncomingMessage | undefined
  #done = false
  /** Something of the answer is on its way to the client. */
  #isShown = false
  /** The latest part that the client has not seen yet. */
  #unseen: Unseen | undefined

  constructor(
    readonly proxy: RecordingProxy,
    readonly op: number,
    readonly response: ServerResponse,
  ) {
    response.on('close', () => this.giveUp('The client closed the connection.'))
  }

  forward({ method, url, pairs, body }: Forwarded): void {
    if (this.response.destroyed) return this.giveUp('The client closed the connection.')
    try {
      this.#upstream = this.proxy.wayOut.request(url, {
        method,
        headers: forwardedHeaders(pairs, url.host, body.length),
        maxHeaderSize: HEADER_BYTES_MAX,
      })
    } catch (error) {
      return this.#fail(error)
    }
    this.#upstream.on('response', (answer) => this.#begin(answer))
    this.#upstream.on('error', (error) => this.#fail(error))
    this.#upstream.end(body)
  }

  /** Nobody waits for the answer any more. */
  giveUp(why: string): void {
    if (!this.#finish({ error: clientGone(why) })) return
    this.#upstream?.destroy()
  }

  #begin(answer: IncomingMessage): void {
    if (this.#done) return void answer.destroy()
    this.#answer = answer
    const { statusCode = 502, statusMessage = '' } = answer
    const pairs = endToEnd(headerPairs(answer.rawHeaders))
    try {
      this.response.sendDate = false
      // Only put together: it leaves with the first write.
      this.response.writeHead(statusCode, statusMessage, asTaped(pairs))
    } catch (error) {
      // A head that Node reads but does not write again, such as status 42.
      return this.#fail(error)
    }
    this.proxy.buffer({
      type: 'response',
      op: this.op,
      status: statusCode,
      statusText: statusMessage,
      headers: this.proxy.maskedHeaders(pairs),
    })
    this.#queue()
    answer.on('data', (chunk: Buffer) => this.#chunk(chunk))
    answer.on('end', () => this.#end(answer))
    answer.on('error', (error) => this.#fail(error))
    answer.on('close', () => answer.complete || this.#fail(new Error('The answer broke off.')))
  }

  #chunk(chunk: Buffer): void {
    if (this.#done) return
    this.proxy.buffer({ type: 'deliver', op: this.op, part: 'chunk' }, chunk)
    this.#queue().chunks.push(chunk)
  }

  #end(answer: IncomingMessage): void {
    if (!answer.complete) return this.#fail(new Error('The answer broke off.'))
    if (this.#finish({})) this.#endWith(() => this.response.end())
  }

  /** The other side failed: before its answer began the client is told, later its answer breaks off, too. */
  #fail(error: unknown): void {
    const recorded = recordError(error)
    // What came before the failure and was not handed on yet: reading emits `data`.
    this.#answer?.read()
    if (!this.#finish({ error: recorded })) return
    this.#upstream?.destroy()
    this.#endWith(() => {
      // Pieces written in this turn leave first.
      if (this.response.headersSent) setImmediate(breakOff, this.response)
      else answerError(this.response, 502, upstreamFailure(recorded))
    })
  }

  #endWith(ending: () => void): void {
    this.#queue({ isEnd: true }).ending = ending
  }

  #queue({ isEnd = false } = {}): Unseen {
    if (this.#unseen && this.proxy.isShownWith(this.#unseen, isEnd)) return this.#unseen
    const unseen: Unseen = { of: isEnd ? {} : this, chunks: [], show: () => this.#show(unseen) }
    this.#unseen = unseen
    this.proxy.whenWritten(unseen)
    return unseen
  }

  /** Hands on what arrived: each piece in a write of its own, a head alone at once. */
  #show(unseen: Unseen): void {
    if (this.#unseen === unseen) this.#unseen = undefined
    if (this.proxy.failure) return this.#notRecorded(this.proxy.failure)
    let isFlowing = true
    for (const chunk of unseen.chunks) isFlowing = this.response.write(chunk)
    if (unseen.ending) return unseen.ending()
    if (!this.#isShown && unseen.chunks.length === 0) this.response.flushHeaders()
    this.#isShown = true
    if (isFlowing) return
    this.#answer?.pause()
    this.response.once('drain', () => this.#answer?.resume())
  }

  /** A client sees nothing that is not on the tape. */
  #notRecorded(failure: Error): void {
    this.#finish({})
    this.#upstream?.destroy()
    if (this.#isShown) breakOff(this.response)
    else if (this.response.headersSent) this.response.destroy()
    else answerError(this.response, 502, errors.PROXY_NOT_RECORDING(failure.message))
  }

  #finish({ error }: { readonly error?: RecordedError }): boolean {
    if (this.#done) return false
    this.#done = true
    this.proxy.buffer({
      type: 'deliver',
      op: this.op,
      part: error ? 'error' : 'end',
      ...(error && { error }),
    })
    this.onDone()
    return true
  }
}

/** Names in lower case, as on the tape: a client sees the same bytes when it is replayed. */
const asTaped = (pairs: readonly HeaderPair[]): string[] =>
  pairs.flatMap(([name, value]) => [name.toLowerCase(), value])
