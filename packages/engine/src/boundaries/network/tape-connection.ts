import net from 'node:net'
import type tls from 'node:tls'
import { fromWire, Http1Scanner, rebuildError, recordError, toWire } from '@retake/tape'
import type { Http1Request } from '@retake/tape'
import { callSite } from '../../call-site.js'
import { maskHeaders, maskUrl } from '../../headers.js'
import { lostAnswer, SILENCE_MS } from '../../continue/given-up-answer.js'
import { natives } from '../../natives.js'
import { currentSession, outsideRuns } from '../../scope.js'
import type { Delivery, Operation, Session } from '../../sessions/session.js'
import { TapeTimer } from '../timers.js'
import { WrittenBytes } from '../written-bytes.js'

export interface Target {
  readonly kind: 'tcp' | 'tls' | 'pipe'
  readonly host?: string
  readonly port?: number
  readonly path?: string
}

const { setTimeout: setNativeTimeout } = net.Socket.prototype
const clearNativeTimeout = (socket: net.Socket): unknown => setNativeTimeout.call(socket, 0)

type WriteDone = (error?: Error | null) => void

/** Bytes of an unfinished request leave at the latest after this long. */
const HOLD_MS = 20

/**
 * One connection of the agent. The agent holds an ordinary `net.Socket` whose
 * stream methods are replaced: what it writes is read as HTTP/1.1 and becomes
 * `request` events, or passes as opaque bytes; what it reads comes through the
 * gate. While recording a real socket stands behind it, on replay nothing does.
 *
 * Writes are not part of the total order, only completed requests are; answers
 * are held back until as much was written as when they were recorded.
 */
export class TapeConnection {
  static readonly #adopted = new WeakMap<net.Socket, TapeConnection>()

  readonly #operation: Operation
  readonly #requests: Http1Scanner<'request'>
  readonly #responses = new Http1Scanner('response', {
    maskValuesOf: ['set-cookie'],
    onMasked: (value) => this.session.secrets.hide(value),
    dropBodies: true,
  })
  readonly #opaque: WrittenBytes
  #isHttp = true
  #requestCount = 0
  #held: Uint8Array[] = []
  /** The request that was served last, until its answer is complete: a run that goes live may have to send it again. */
  #unanswered: readonly Uint8Array[] = []
  #heldTimer: NodeJS.Timeout | undefined
  /** Runs while the answer to a request that was served before the run went live is awaited. */
  #awaited: NodeJS.Timeout | undefined
  #real: net.Socket | undefined
  #isHeld = true
  /** Opened by the tape, and still there when the run went live. */
  #isCarried = false
  /** Nobody is at the other end any more, and the agent is about to be told. */
  #isLost = false
  readonly #waitingForConnect: (() => void)[] = []
  #idleTimer: TapeTimer | undefined

  constructor(
    readonly session: Session,
    readonly socket: net.Socket,
    readonly target: Target,
    /** Makes the real counterpart; never called on replay. */
    readonly connect: () => net.Socket,
  ) {
    TapeConnection.#adopted.set(socket, this)
    this.#requests = new Http1Scanner('request')
    this.#opaque = new WrittenBytes(session)
    this.#shadow(socket)
    this.#operation = session.perform({
      event: { type: 'socket', ...target },
      start: (operation, edited) => this.#start(operation, edited),
      carryOver: (operation) => this.#carryOver(operation),
      deliver: (delivery) => this.#deliver(delivery),
      stamp: () => this.#stamp(),
      // Requests come first; a connection that is no longer HTTP stays so.
      digestAt: (written) => this.#opaque.digestAt(Math.max(0, written - this.#requestCount)),
    })
  }

  static of(socket: net.Socket): TapeConnection | undefined {
    return TapeConnection.#adopted.get(socket)
  }

  /** TLS starts on top of this connection: its real socket now belongs to the new one. */
  handOver(): net.Socket | undefined {
    const real = this.#real
    real?.removeAllListeners()
    this.#real = undefined
    this.#operation.close()
    return real
  }

  // ── the real side ─────────────────────────────────────────────────────────

  /** A connection that the tape has opened is opened again behind the agent's back, and sends what has no answer yet. */
  #start(operation: Operation, edited: Uint8Array | undefined): void {
    const isOpen = !this.socket.connecting
    if (!isOpen || this.#real === undefined || this.#real.destroyed) this.#attach(operation, isOpen)
    if (!isOpen) return
    const again = edited ? [replaceBody(this.#unanswered, edited)] : this.#unanswered
    for (const bytes of again) this.#real?.write(bytes)
  }

  /** The run went live. HTTP goes on over a new connection when it is needed; nothing else can. */
  #carryOver(operation: Operation): void {
    if (this.#real !== undefined) return
    this.#isCarried = true
    if (this.socket.connecting) this.#attach(operation, false)
    else if (!this.#isHttp || this.#requests.upgraded) this.#loseSoon(operation)
    // As an open connection would, it keeps the process alive while an answer is awaited.
    else if (this.#unanswered.length > 0)
      this.#awaited = natives.setTimeout(() => this.#lose(operation), SILENCE_MS)
  }

  /** Not at once: what a fork puts in comes first. */
  #loseSoon(operation: Operation): void {
    this.#isLost = true
    natives.setImmediate(() => this.#lose(operation))
  }

  #lose(operation: Operation): void {
    for (const { event } of lostAnswer(operation.action.event)) operation.complete(event)
  }

  #attach(operation: Operation, isOpen: boolean): void {
    const real = (this.#real = this.connect())
    if (!this.#isHeld) real.unref()
    if (!isOpen) {
      real.on(this.target.kind === 'tls' ? 'secureConnect' : 'connect', () =>
        operation.complete({
          type: 'deliver',
          part: 'connect',
          value: toWire(connectionFacts(real)),
        }),
      )
    }
    real.on('data', (data: Buffer) => {
      const masked = new Uint8Array(data)
      if (this.#isHttp && !this.#responses.upgraded) this.#responses.push(masked)
      operation.complete({ type: 'deliver', part: 'chunk' }, masked, data)
    })
    real.on('end', () => operation.complete({ type: 'deliver', part: 'end' }))
    real.on('close', () => operation.complete({ type: 'deliver', part: 'close' }))
    real.on('error', (error) =>
      operation.complete(
        { type: 'deliver', part: 'error', error: recordError(error) },
        undefined,
        error,
      ),
    )
  }

  get #isServed(): boolean {
    return this.session.replaying || this.#operation.isTaped
  }

  #send(bytes: Uint8Array): void {
    if (this.#isServed || this.#isLost) return
    outsideRuns(() => {
      if (this.#real === undefined && !this.#operation.closed) this.#attach(this.#operation, true)
      this.#real?.write(bytes)
    })
  }

  // ── what the agent writes ─────────────────────────────────────────────────

  #write(chunk: Uint8Array, done: WriteDone): void {
    this.#noteForeignRun()
    if (this.#isHttp && !this.#requests.upgraded) this.#writeHttp(chunk)
    else this.#writeOpaque(chunk)
    this.#touch()
    this.session.proceed()
    done()
  }

  #writeHttp(chunk: Uint8Array): void {
    const messages = this.#requests.push(chunk)
    if (this.#requests.notHttp || this.#requests.failure !== undefined) {
      this.#isHttp = false
      const early = this.#held
      this.#held = []
      for (const bytes of [...early, chunk]) this.#writeOpaque(bytes)
      return
    }
    this.#held.push(chunk)
    for (const message of messages) this.#recordRequest(message)
    if (messages.length > 0 || !this.#requests.idle) this.#releaseSoon(this.#requests.idle)
  }

  /** Held bytes go out once their request is on the tape, or when it takes its time to finish. */
  #releaseSoon(isComplete: boolean): void {
    if (this.#isServed) {
      if (!isComplete) return
      this.#unanswered = this.#held
      this.#held = []
      return
    }
    if (isComplete) return this.#release()
    this.#heldTimer ??= natives.setTimeout(() => this.#release(), HOLD_MS)
  }

  #release(): void {
    natives.clearTimeout(this.#heldTimer)
    this.#heldTimer = undefined
    const held = this.#held
    this.#held = []
    for (const bytes of held) this.#send(bytes)
  }

  #recordRequest(message: Http1Request): void {
    this.#responses.expect(message.method)
    const site = callSite()
    const operation = this.session.perform({
      event: {
        type: 'request',
        seam: 'http',
        method: message.method,
        url: this.session.secrets.text(maskUrl(this.#urlOf(message))),
        headers: maskHeaders(this.session, message.headers),
        socket: this.#operation.id,
        ...(site !== undefined && { site }),
      },
      body: message.body,
      durable: true,
      start: () => {},
      deliver: () => {},
    })
    operation.close()
    // Only now: where a run leaves the tape at this request, the recorded answer is not for it.
    this.#requestCount += 1
  }

  #urlOf(message: Http1Request): string {
    if (/^https?:/.test(message.target)) return message.target
    const host = message.headers.find(([name]) => name.toLowerCase() === 'host')?.[1]
    const scheme = this.target.kind === 'tls' ? 'https' : 'http'
    return `${scheme}://${host ?? `${this.target.host}:${this.target.port}`}${message.target}`
  }

  #writeOpaque(chunk: Uint8Array): void {
    this.#opaque.add(chunk)
    this.#send(chunk)
  }

  #stamp(): { written: number; digest: string } {
    const { written, digest } = this.#opaque.stamp()
    return { written: this.#requestCount + written, digest }
  }

  /** Pools of other libraries may hand one run's connection to another: that request is on the wrong tape. */
  #noteForeignRun(): void {
    const current = currentSession()
    if (current === undefined || current === this.session) return
    current.note({
      kind: 'boundary',
      name: 'shared connection',
      text: `a connection to ${this.target.host}:${this.target.port} was opened by another run; use one client per run`,
    })
  }

  // ── what the agent reads ──────────────────────────────────────────────────

  #deliver({ event, body, native }: Delivery): void {
    if (event.type !== 'deliver') return
    const { socket } = this
    switch (event.part) {
      case 'connect':
        return this.#connected(fromWire(event.value) as Record<string, unknown>)
      case 'chunk':
        this.#touch()
        if (native === undefined && this.#isHttp && !this.#responses.upgraded) {
          const answered = this.#responses.push(new Uint8Array(body))
          if (answered.length > 0) this.#answered()
        }
        if (this.#responses.upgraded) this.#upgraded()
        socket.push(native === undefined ? Buffer.from(body) : (native as Buffer))
        return
      case 'end':
        socket.push(null)
        return
      case 'close':
        this.#operation.close()
        socket.destroy()
        return
      case 'error':
        this.#operation.close()
        socket.destroy((native ?? (event.error && rebuildError(event.error))) as Error)
        return
    }
  }

  #upgraded(): void {
    this.#requests.upgrade()
    // The other end agreed to that long ago, on a connection that is no more.
    if (this.#isCarried && this.#real === undefined && !this.#isLost)
      this.#loseSoon(this.#operation)
  }

  #answered(): void {
    this.#unanswered = []
    natives.clearTimeout(this.#awaited)
  }

  #connected(facts: Record<string, unknown>): void {
    const { socket } = this
    // Opened for real while the recorded opening was on its way.
    if (!socket.connecting) return
    define(socket, 'connecting', false)
    for (const [name, value] of Object.entries(facts)) define(socket, name, value)
    socket.emit('connect')
    if (this.target.kind === 'tls') {
      socket.emit('secure')
      socket.emit('secureConnect')
    }
    socket.emit('ready')
    for (const run of this.#waitingForConnect.splice(0)) run()
  }

  // ── the socket the agent holds ────────────────────────────────────────────

  #shadow(socket: net.Socket): void {
    const whenConnected = (run: () => void): void => {
      if (socket.connecting) this.#waitingForConnect.push(run)
      else run()
    }
    // Set before the connection was taken over: Node's own timer would run beside the tape.
    const early = (socket as { timeout?: number }).timeout
    if (early) clearNativeTimeout(socket)
    define(socket, 'connecting', true)
    const isTls = this.target.kind === 'tls'
    const methods: Record<string, unknown> = {
      _read: () => {},
      _write: (chunk: Buffer, encoding: BufferEncoding, done: WriteDone) =>
        whenConnected(() =>
          this.#write(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk, done),
        ),
      _writev: null,
      _final: (done: WriteDone) =>
        whenConnected(() => {
          outsideRuns(() => this.#real?.end())
          done()
        }),
      _destroy: (error: Error | null, done: WriteDone) => this.#destroy(error, done),
      setTimeout: (ms: number, callback?: () => void) => this.#setIdleTimeout(ms, callback),
      ref: () => this.#hold(true),
      unref: () => this.#hold(false),
      setNoDelay: () => socket,
      setKeepAlive: () => socket,
      address: () => ({}),
      ...(isTls && TLS_FACADE),
    }
    for (const [name, value] of Object.entries(methods)) define(socket, name, value)
    defineGetter(socket, 'pending', () => socket.connecting)
    defineGetter(socket, 'bytesWritten', () => this.#requestCount + this.#opaque.count)
    if (early) this.#setIdleTimeout(early)
  }

  /** Whether the connection keeps the process alive; one that is opened later behind it must know. */
  #hold(isHeld: boolean): net.Socket {
    this.#isHeld = isHeld
    if (isHeld) this.#real?.ref()
    else this.#real?.unref()
    return this.socket
  }

  #destroy(error: Error | null, done: WriteDone): void {
    this.#operation.close()
    this.#idleTimer?.stop()
    natives.clearTimeout(this.#heldTimer)
    natives.clearTimeout(this.#awaited)
    outsideRuns(() => {
      this.#real?.on('error', () => {})
      this.#real?.destroy()
    })
    define(this.socket, 'connecting', false)
    done(error)
    process.nextTick(() => this.socket.emit('close', error !== null))
  }

  #setIdleTimeout(ms: number, callback?: () => void): net.Socket {
    const { socket } = this
    this.#idleTimer?.stop()
    this.#idleTimer = undefined
    define(socket, 'timeout', ms)
    if (callback) {
      if (ms > 0) socket.once('timeout', callback)
      else socket.removeListener('timeout', callback)
    }
    if (ms > 0) {
      this.#idleTimer = new TapeTimer('timeout', Math.trunc(ms), () => socket.emit('timeout'), [])
      this.#idleTimer.unref()
    }
    return socket
  }

  /** Traffic starts the idle timer anew. */
  #touch(): void {
    this.#idleTimer?.refresh()
  }
}

/** An HTTP/1.1 request with another body and the length that goes with it. */
function replaceBody(request: readonly Uint8Array[], body: Uint8Array): Uint8Array {
  const whole = Buffer.concat(request)
  const head = whole.subarray(0, whole.indexOf('\r\n\r\n')).toString('latin1')
  const kept = head.split('\r\n').filter((line) => !BODY_HEADERS.test(line))
  const lines = [...kept, `content-length: ${body.length}`, '', '']
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), body])
}

const BODY_HEADERS = /^(content-length|transfer-encoding|content-encoding):/i

/** What programs read off a connected socket. */
function connectionFacts(real: net.Socket): Record<string, unknown> {
  const secure = real as Partial<tls.TLSSocket>
  return {
    remoteAddress: real.remoteAddress,
    remotePort: real.remotePort,
    remoteFamily: real.remoteFamily,
    localAddress: real.localAddress,
    localPort: real.localPort,
    ...(secure.encrypted === true && {
      alpnProtocol: secure.alpnProtocol,
      authorized: secure.authorized,
    }),
  }
}

/** Methods of a TLS socket that clients call; they tell nothing that is captured. */
const TLS_FACADE = {
  encrypted: true,
  authorized: false,
  alpnProtocol: false,
  getPeerCertificate: () => ({}),
  getSession: () => undefined,
  isSessionReused: () => false,
  getProtocol: () => 'TLSv1.3',
  getCipher: () => ({}),
  setServername: () => {},
  getTLSTicket: () => undefined,
  getEphemeralKeyInfo: () => ({}),
}

function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, configurable: true })
}

function defineGetter(target: object, key: string, get: () => unknown): void {
  Object.defineProperty(target, key, { get, configurable: true })
}
