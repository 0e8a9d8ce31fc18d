import { Http1Scanner, type Http1Request } from '@retake/tape/http'
import { siteField } from '../../kernel/call-site.js'
import { maskHeaders, maskUrl } from '../../headers.js'
import { natives } from '../../kernel/natives.js'
import type { Session } from '../../kernel/session.js'
import { WrittenBytes } from '../patching/written-bytes.js'
import { PostgresHandshake } from './postgres-handshake.js'
import { MysqlHandshake, ScramMessages, type SignIn } from './sign-in.js'
import { WebSocketFrames } from './websocket-frames.js'

/** Maximum delay for bytes of an unfinished request. */
const PAUSE_MS = 20

/** Where a connection leads. */
export interface Target {
  readonly kind: 'tcp' | 'tls' | 'pipe'
  readonly host?: string
  readonly port?: number
  readonly path?: string
}

export interface WrittenRequestsOptions {
  readonly target: Target
  readonly connection: () => number
  /** True while a tape answers, so nothing is sent. */
  readonly isServed: () => boolean
  /** Pieces that belong together leave together. */
  readonly send: (pieces: readonly Uint8Array[]) => void
  /** Called when a request is complete and about to become an event. */
  readonly onRequest: (message: Http1Request) => void
  /** Called instead of `send` if the tape cannot be written. */
  readonly onFailed: (failure: Error) => void
}

/**
 * Parses the agent's writes to a connection as HTTP/1.1. Completed requests become events, and
 * their bytes are sent once they are on the tape. Anything else passes as opaque bytes.
 */
export class WrittenRequests {
  readonly #scanner = new Http1Scanner('request')
  readonly #opaque: WrittenBytes
  readonly #signIns: readonly SignIn[]
  /** Set after an upgrade to the WebSocket protocol. */
  #frames: WebSocketFrames | undefined
  #wantsWebSocket = false
  /** True if everything so far was HTTP; after an upgrade, everything before it. */
  isHttp = true
  #count = 0
  #paused: Uint8Array[] = []
  #pauseTimer: NodeJS.Timeout | undefined
  /**
   * The last served request, until its answer is complete: a run that goes live may have to send it
   * again.
   */
  unanswered: readonly Uint8Array[] = []

  constructor(
    readonly session: Session,
    readonly options: WrittenRequestsOptions,
  ) {
    this.#opaque = new WrittenBytes(session)
    const passwords = (): Iterable<string> => session.environment?.possiblePasswords() ?? []
    this.#signIns = [
      new PostgresHandshake(passwords),
      new MysqlHandshake(),
      new ScramMessages(passwords),
    ]
  }

  get upgraded(): boolean {
    return this.#scanner.upgraded
  }

  /** Number of requests, and of bytes that are not part of requests. */
  get count(): number {
    return this.#count + this.#opaque.count
  }

  stamp(): { written: number; digest: string } {
    const { written, digest } = this.#opaque.stamp()
    return { written: this.#count + written, digest }
  }

  /** Requests come first: a connection that left HTTP does not return to it. */
  digestAt(written: number): string | undefined {
    return this.#opaque.digestAt(Math.max(0, written - this.#count))
  }

  write(chunk: Uint8Array): void {
    if (!this.isHttp || this.#scanner.upgraded) return this.#writeOpaque(chunk)
    const messages = this.#scanner.push(chunk)
    if (this.#scanner.notHttp || this.#scanner.failure !== undefined) {
      this.isHttp = false
      const early = this.#paused
      this.#paused = []
      for (const bytes of [...early, chunk]) this.#writeOpaque(bytes)
      return
    }
    this.#paused.push(chunk)
    for (const message of messages) this.#recordRequest(message)
    // Buffered bytes are sent once their request is on the tape, or if it takes long to finish.
    if (messages.length === 0 && this.#scanner.idle) return
    const isComplete = this.#scanner.idle
    if (!this.options.isServed()) {
      if (isComplete) this.#release()
      else this.#pauseTimer ??= natives.setTimeout(() => this.#releasePart(), PAUSE_MS)
    } else if (isComplete) {
      this.unanswered = this.#paused
      this.#paused = []
    }
  }

  /** A recorded part of an answer, adapted so that this client accepts it. */
  served(bytes: Uint8Array): Uint8Array {
    if (this.isHttp) return bytes
    return this.#signIns.reduce((part, signIn) => signIn.served(part), bytes)
  }

  upgrade(): void {
    if (!this.upgraded && this.#wantsWebSocket) this.#frames = new WebSocketFrames()
    this.#scanner.upgrade()
  }

  close(): void {
    natives.clearTimeout(this.#pauseTimer)
  }

  #writeOpaque(chunk: Uint8Array): void {
    const readers = this.#frames === undefined ? this.#signIns : [this.#frames]
    this.#opaque.add(readers.reduce((part, reader) => reader.written(part), chunk))
    this.session.commit()
    this.options.send([chunk])
  }

  /** Sends a part of a request, which becomes an event only when it is complete. */
  #releasePart(): void {
    try {
      this.session.commit()
    } catch (failure) {
      return this.options.onFailed(failure as Error)
    }
    this.#release()
  }

  #release(): void {
    natives.clearTimeout(this.#pauseTimer)
    this.#pauseTimer = undefined
    const paused = this.#paused
    this.#paused = []
    this.options.send(paused)
  }

  #recordRequest(message: Http1Request): void {
    this.options.onRequest(message)
    this.#wantsWebSocket = message.headers.some(
      ([name, value]) => /^upgrade$/i.test(name) && /websocket/i.test(value),
    )
    const { kind, host, port } = this.options.target
    const named = message.headers.find(([name]) => name.toLowerCase() === 'host')?.[1]
    const origin = `${kind === 'tls' ? 'https' : 'http'}://${named ?? `${host}:${port}`}`
    const url = /^https?:/.test(message.target) ? message.target : origin + message.target
    const operation = this.session.perform({
      event: {
        type: 'request',
        seam: 'http',
        method: message.method,
        url: this.session.secrets.text(maskUrl(url)),
        headers: maskHeaders(this.session, message.headers),
        socket: this.options.connection(),
        ...siteField(),
      },
      body: message.body,
      durable: true,
      start: () => {},
      deliver: () => {},
    })
    operation.close()
    // Not counted earlier: if a run leaves the tape at this request, the recorded answer does not
    // belong to it.
    this.#count += 1
  }
}

/** An HTTP/1.1 request with a different body and the matching length. */
export function replaceBody(request: readonly Uint8Array[], body: Uint8Array): Uint8Array {
  const whole = Buffer.concat(request)
  const head = whole.subarray(0, whole.indexOf('\r\n\r\n')).toString('latin1')
  const others = head.split('\r\n').filter((line) => !BODY_HEADERS.test(line))
  const lines = [...others, `content-length: ${body.length}`, '', '']
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), body])
}

const BODY_HEADERS = /^(content-length|transfer-encoding|content-encoding):/i
