import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { recordError } from '@retake/tape'
import type { HeaderPair, RecordedError } from '@retake/tape'
import { errors } from '../errors.js'
import { breakOff } from './break-off.js'
import { clientGone, upstreamFailure } from './exchange-failure.js'
import { answerError } from './proxy-error.js'
import { endToEnd, forwardedHeaders, headerPairs } from './proxy-request.js'
import { HEADER_BYTES_MAX } from './proxy-server.js'
import type { RecordingProxy } from './recording-proxy.js'

interface Forwarded {
  readonly method: string
  readonly url: URL
  readonly pairs: readonly HeaderPair[]
  readonly body: Buffer
}

/** One request on its way upstream, and its answer on the way back. Ends exactly once. */
export class RecordedExchange {
  onDone: () => void = () => {}
  #upstream: ClientRequest | undefined
  #answer: IncomingMessage | undefined
  #done = false

  constructor(
    readonly proxy: RecordingProxy,
    readonly op: number,
    readonly response: ServerResponse,
  ) {
    response.on('close', () => this.giveUp('The client closed the connection.'))
  }

  forward({ method, url, pairs, body }: Forwarded): void {
    if (this.response.destroyed) return this.giveUp('The client closed the connection.')
    const isTls = url.protocol === 'https:'
    try {
      this.#upstream = (isTls ? httpsRequest : httpRequest)(url, {
        method,
        headers: forwardedHeaders(pairs, url.host, body.length),
        maxHeaderSize: HEADER_BYTES_MAX,
        agent: this.proxy.agents[isTls ? 'https:' : 'http:'],
      })
    } catch (error) {
      return this.#fail(error)
    }
    this.#upstream.on('response', (answer) => this.#head(answer))
    this.#upstream.on('error', (error) => this.#fail(error))
    this.#upstream.end(body)
  }

  /** Nobody waits for the answer any more. */
  giveUp(why: string): void {
    if (!this.#finish({ error: clientGone(why) })) return
    this.#upstream?.destroy()
  }

  #head(answer: IncomingMessage): void {
    if (this.#done) return void answer.destroy()
    this.#answer = answer
    const { statusCode = 502, statusMessage = '' } = answer
    const pairs = endToEnd(headerPairs(answer.rawHeaders))
    this.proxy.append({
      type: 'response',
      op: this.op,
      status: statusCode,
      statusText: statusMessage,
      headers: this.proxy.maskedHeaders(pairs),
    })
    if (this.proxy.failure) return this.#notRecorded(this.proxy.failure)
    try {
      this.response.sendDate = false
      this.response.writeHead(statusCode, statusMessage, asTaped(pairs))
    } catch (error) {
      // A head that Node reads but does not write again, such as status 42.
      this.#fail(error)
      return
    }
    // A piece that came along with the head leaves with it; a head alone leaves at once.
    setImmediate(() => this.#done || this.response.flushHeaders())
    answer.on('data', (chunk: Buffer) => this.#chunk(chunk, answer))
    answer.on('end', () => this.#end(answer))
    answer.on('error', (error) => this.#fail(error))
    answer.on('close', () => answer.complete || this.#fail(new Error('The answer broke off.')))
  }

  #chunk(chunk: Buffer, answer: IncomingMessage): void {
    if (this.#done) return
    this.proxy.append({ type: 'deliver', op: this.op, part: 'chunk' }, chunk)
    if (this.proxy.failure) return this.#notRecorded(this.proxy.failure)
    if (this.response.write(chunk)) return
    answer.pause()
    this.response.once('drain', () => answer.resume())
  }

  #end(answer: IncomingMessage): void {
    if (!answer.complete) return this.#fail(new Error('The answer broke off.'))
    if (this.#finish({})) this.response.end()
  }

  /** The other side failed: before its answer began the client is told, later its answer breaks off, too. */
  #fail(error: unknown): void {
    const recorded = recordError(error)
    // What came before the failure and was not handed on yet: reading emits `data`.
    this.#answer?.read()
    if (!this.#finish({ error: recorded })) return
    this.#upstream?.destroy()
    if (this.response.headersSent) breakOff(this.response)
    else answerError(this.response, 502, upstreamFailure(recorded))
  }

  /** A client sees nothing that is not on the tape. */
  #notRecorded(failure: Error): void {
    if (!this.#finish({})) return
    this.#upstream?.destroy()
    if (this.response.headersSent) breakOff(this.response)
    else answerError(this.response, 502, errors.proxyNotRecording(failure.message))
  }

  #finish({ error }: { readonly error?: RecordedError }): boolean {
    if (this.#done) return false
    this.#done = true
    this.proxy.append({
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
