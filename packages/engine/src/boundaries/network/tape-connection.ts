import net from 'node:net'
import { fromWire, rebuildError, toWire } from '@retake/tape/format'
import { Http1Scanner } from '@retake/tape/http'
import { lostAnswer, SILENCE_MS } from '../../kernel/stand-in-answer.js'
import { natives } from '../../kernel/natives.js'
import { currentSession, outsideRuns } from '../../kernel/scope.js'
import type { Delivery, Operation, Session } from '../../kernel/session.js'
import { errorAnswer } from '../../kernel/source.js'
import { replaceBody, type Target, WrittenRequests } from './written-requests.js'
import type tls from 'node:tls'
import { reportEnding } from '../patching/deliver-error.js'
import { define } from '../patching/patch.js'
import { noteBoundary } from '../patching/note-boundary.js'
import { TapeTimer } from '../patching/tape-timer.js'
import { PostgresSession, requestTls } from './postgres-session.js'
import { clientPasswords } from '../shared/shared-clients.js'

/** Notes that a run uses a connection whose answers are not on its tape. */
export function noteSharedConnection(
  session: Session,
  { host, port, path }: Target,
  opened: 'by another run' | 'outside the run',
): void {
  noteBoundary(session, {
    name: 'shared connection',
    text: `a connection to ${path ?? `${host}:${port}`} was opened ${opened}; wrap the call in tool(), or use one client per run`,
    consequence: opened === 'by another run' ? 'stops' : 'answers-missing',
  })
}

/** Properties of a connected socket that programs read. */
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

/**
 * One connection of the agent, behind an ordinary `net.Socket` whose stream methods are replaced
 * (`SocketFacade`). Its writes become `request` events, or pass as opaque bytes
 * (`WrittenRequests`); its reads come through the gate. While recording there is a real socket
 * behind it, on replay there is none. Only completed requests are part of the total order, not
 * single writes. An answer is delayed until as many bytes were written as when it was recorded.
 */
export class TapeConnection {
  static readonly adopted = new WeakMap<net.Socket, TapeConnection>()

  readonly #operation: Operation
  readonly #facade: SocketFacade
  readonly #requests: WrittenRequests
  readonly #responses = new Http1Scanner('response', {
    maskValuesOf: ['set-cookie'],
    onMasked: (value) => this.session.secrets.hide(value),
    dropBodies: true,
  })
  /** The real socket, if there is one; never on replay. */
  #real: net.Socket | undefined
  #isReferenced = true
  #isNoDelay: boolean | undefined
  /** Runs while the run, now live, waits for the answer to a request that was served before. */
  #awaited: NodeJS.Timeout | undefined
  /** True if the tape opened the connection and it was still open when the run went live. */
  #isHandedOver = false
  /** True if the other end is gone and the agent is about to be notified. */
  #isLost = false
  /** True if TLS was started on this connection, which the agent no longer uses itself. */
  isCovered = false
  /** Follows a connection from the tape; set while it may need a real one. */
  readonly #postgres: PostgresSession | undefined
  /** Writes of the agent while the real connection signs in. */
  #delayed: Uint8Array[] | undefined
  /** Bytes that the agent had written when the last part arrived. */
  #answeredCount = 0

  constructor(
    readonly session: Session,
    readonly socket: net.Socket,
    readonly target: Target,
    /** Creates the real socket, on top of `over` if given; never called on replay. */
    readonly connect: (over?: net.Socket) => net.Socket,
    /** The connection on which TLS was started. */
    readonly under?: TapeConnection,
  ) {
    TapeConnection.adopted.set(socket, this)
    if (under) under.isCovered = true
    if (session.remote !== 'live')
      this.#postgres = new PostgresSession(function* () {
        yield* session.environment?.possiblePasswords() ?? []
        yield* clientPasswords(session)
      })
    this.#requests = new WrittenRequests(session, {
      target,
      connection: () => this.#operation.id,
      isServed: () => this.#isServed,
      send: (pieces) =>
        this.#together(() =>
          pieces.forEach((bytes) => {
            if (this.#isServed || this.#isLost) return
            if (this.#delayed !== undefined) return void this.#delayed.push(Uint8Array.from(bytes))
            outsideRuns(() => {
              if (this.#real === undefined && !this.#operation.closed)
                this.#open(this.#operation, true)
              this.#real?.write(bytes)
            })
          }),
        ),
      onRequest: ({ method }) => this.#responses.expect(method),
      onFailed: (failure) =>
        this.#operation.complete(errorAnswer(false, failure), undefined, failure),
    })
    this.#facade = new SocketFacade(socket, target.kind === 'tls', {
      write: (bytes) => {
        // A library's connection pool may pass this connection to another run, whose requests are
        // then on the wrong tape.
        const current = currentSession()
        if (current !== undefined && current !== session)
          noteSharedConnection(current, target, 'by another run')
        this.#follow(bytes)
        this.#requests.write(bytes)
        this.#facade.touch()
        session.proceed()
      },
      together: (write) => this.#together(write),
      end: () => outsideRuns(() => this.#real?.end()),
      destroy: () => {
        this.#operation.close()
        this.#requests.close()
        natives.clearTimeout(this.#awaited)
        outsideRuns(() => {
          this.#real?.on('error', () => {})
          this.#real?.destroy()
        })
      },
      setReferenced: (isReferenced) => {
        this.#isReferenced = isReferenced
        if (isReferenced) this.#real?.ref()
        else this.#real?.unref()
      },
      setNoDelay: (isNoDelay) => {
        this.#isNoDelay = isNoDelay
        this.#real?.setNoDelay(isNoDelay)
      },
      bytesWritten: () => this.#requests.count,
    })
    this.#operation = session.perform({
      event: { type: 'socket', ...target },
      start: (operation, edited) => {
        // Opens the real counterpart of a connection from the tape, and sends requests that have no
        // answer. The agent does not notice.
        const isOpen = !this.socket.connecting
        if (isOpen && !this.#requests.isHttp) return this.#signIn(operation)
        if (!isOpen || this.#real?.destroyed !== false) this.#open(operation, isOpen)
        if (!isOpen) return
        const { unanswered } = this.#requests
        const again = edited ? [replaceBody(unanswered, edited)] : unanswered
        for (const bytes of again) this.#real?.write(bytes)
      },
      handOver: (operation, rest) => {
        // Called when the run goes live. HTTP continues over a new connection when needed;
        // PostgreSQL, too, after signing in. No other protocol can: if it is idle, the connection
        // ends, as if the server had closed it, so that a pool replaces it before the next query.
        if (this.#real !== undefined || this.isCovered) return
        this.#isHandedOver = true
        if (this.socket.connecting) this.#open(operation, false)
        else if (this.#requests.upgraded) this.#loseSoon(operation)
        else if (!this.#requests.isHttp) this.#continueOrLose(operation, rest)
        // Keeps the process alive while an answer is awaited, like an open connection.
        else if (this.#requests.unanswered.length > 0)
          this.#awaited = natives.setTimeout(() => this.#lose(operation), SILENCE_MS)
      },
      deliver: (delivery) => this.#deliver(delivery),
      isIdle: () =>
        this.#postgres?.isKnown === true && this.#postgres.obstacleAfter([]) === undefined,
      stamp: () => this.#requests.stamp(),
      digestAt: (written) => this.#requests.digestAt(written),
    })
  }

  /** Called when TLS starts on this connection: its real socket now belongs to the TLS socket. */
  handOver(): net.Socket | undefined {
    const real = this.#real
    real?.removeAllListeners()
    this.#real = undefined
    this.#operation.close()
    return real
  }

  /** Opens the real connection. `isBehind`: the agent already considers it connected. */
  #open(operation: Operation, isBehind: boolean): void {
    const real = (this.#real = this.connect())
    if (!this.#isReferenced) real.unref()
    if (this.#isNoDelay !== undefined) real.setNoDelay(this.#isNoDelay)
    if (!isBehind) {
      const connected = this.target.kind === 'tls' ? 'secureConnect' : 'connect'
      real.on(connected, () => {
        const value = toWire(connectionFacts(real))
        operation.complete({ type: 'deliver', part: 'connect', value })
      })
    }
    this.#attach(real, operation)
  }

  #attach(real: net.Socket, operation: Operation): void {
    real.on('data', (data: Buffer) => {
      const masked = new Uint8Array(data)
      this.#readHttp(masked)
      operation.complete({ type: 'deliver', part: 'chunk' }, masked, data)
    })
    real.on('end', () => operation.complete({ type: 'deliver', part: 'end' }))
    reportEnding(real, operation)
  }

  #continueOrLose(operation: Operation, rest: readonly Uint8Array[]): void {
    const isIdle = rest.length === 0 && this.#requests.count === this.#answeredCount
    if (operation.isConfined) return this.#loseSoon(operation, 'nothing may be sent')
    if (this.#postgres?.isKnown !== true) {
      if (!isIdle) return this.#loseSoon(operation, 'it was in use')
      // Immediately: before an edited answer reaches the agent, which may then use the connection.
      this.#isLost = true
      operation.complete({ type: 'deliver', part: 'end' })
      return operation.complete({ type: 'deliver', part: 'close' })
    }
    const obstacle = this.#postgres.obstacleAfter(rest)
    if (obstacle !== undefined) this.#loseSoon(operation, obstacle)
    // Nothing else would wake the agent. All others are opened when they are used.
    else if (this.#postgres.isListening) operation.action.start(operation)
  }

  /** Called with each write, before it is sent. */
  #follow(bytes: Uint8Array): void {
    const postgres = this.#postgres
    if (postgres === undefined) return
    if (this.#isServed) return postgres.written(bytes)
    const isWaiting = this.#real === undefined && this.#delayed === undefined && !this.#isLost
    if (!this.#isHandedOver || this.#requests.isHttp || !isWaiting) return
    const operation = this.#operation
    const obstacle = postgres.obstacleAfter([])
    if (obstacle !== undefined) this.#loseSoon(operation, obstacle)
    else if (postgres.isGoodbye(bytes)) {
      this.#isLost = true
      natives.setImmediate(() => operation.complete({ type: 'deliver', part: 'close' }))
    } else {
      outsideRuns(() => operation.action.start(operation))
      // The plan may refuse it, which ends the run.
      if (this.#delayed === undefined) this.#isLost = true
    }
  }

  /** Opens a real connection in place of one on the tape, and restores its session. */
  #signIn(operation: Operation): void {
    const postgres = this.#postgres
    if (postgres === undefined || this.#delayed !== undefined) return
    this.#delayed = []
    const fail = (why: string): void => {
      if (this.#delayed === undefined) return
      this.#delayed = undefined
      this.#isLost = true
      this.#real?.destroy()
      this.#lose(operation, `it could not be opened again: ${why}`)
    }
    const watch = (real: net.Socket): net.Socket => {
      this.#real = real
      if (!this.#isReferenced) real.unref()
      real.on('error', (error) => fail(error.message))
      real.on('close', () => fail('the server closed it'))
      return real
    }
    const signIn = (real: net.Socket): void => {
      if (this.#isNoDelay !== undefined) real.setNoDelay(this.#isNoDelay)
      real.once(this.target.kind === 'tls' ? 'secureConnect' : 'connect', () =>
        postgres.signIn(
          real,
          (early) => {
            const delayed = this.#delayed ?? []
            this.#delayed = undefined
            this.#attach(real, operation)
            if (early.length > 0) real.emit('data', early)
            for (const bytes of delayed) real.write(bytes)
          },
          fail,
        ),
      )
    }
    if (this.under === undefined) return signIn(watch(this.connect()))
    const plain = watch(this.under.connect())
    requestTls(plain, () => signIn(watch(this.connect(plain))), fail)
  }

  /** Deferred, because a fork's insertions come first. */
  #loseSoon(operation: Operation, why?: string): void {
    this.#isLost = true
    natives.setImmediate(() => this.#lose(operation, why))
  }

  #lose(operation: Operation, why?: string): void {
    for (const { event } of lostAnswer(operation.action.event, why)) operation.complete(event)
  }

  get #isServed(): boolean {
    return this.#operation.source !== 'live'
  }

  /** Sends what the agent wrote together in one packet; small ones would wait for each other. */
  #together(write: () => void): void {
    const real = this.#real
    real?.cork()
    try {
      write()
    } finally {
      outsideRuns(() => real?.uncork())
    }
  }

  // ── what the agent reads ──────────────────────────────────────────────────

  #deliver({ event, body, native }: Delivery): void {
    if (event.type !== 'deliver') return
    const { socket } = this
    switch (event.part) {
      case 'connect':
        return this.#facade.connected(fromWire(event.value) as Record<string, unknown>)
      case 'chunk':
        this.#facade.touch()
        // Bytes from outside were already parsed when they arrived.
        if (native === undefined && this.#readHttp(new Uint8Array(body))) {
          this.#requests.unanswered = []
          natives.clearTimeout(this.#awaited)
        }
        if (this.#responses.upgraded) {
          this.#requests.upgrade()

          // The upgrade was negotiated on a connection that no longer exists.
          if (this.#isHandedOver && this.#real === undefined && !this.#isLost)
            this.#loseSoon(this.#operation)
        }
        this.#answeredCount = this.#requests.count
        if (native === undefined) {
          const bytes = Buffer.from(this.#requests.served(body))
          this.#postgres?.served(bytes)
          socket.push(bytes)
        } else socket.push(native)
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

  /** Parses a part of an answer and masks it in place. True if this completes an answer. */
  #readHttp(bytes: Uint8Array): boolean {
    if (!this.#requests.isHttp || this.#responses.upgraded) return false
    return this.#responses.push(bytes).length > 0
  }
}

const { setTimeout: setNativeTimeout } = net.Socket.prototype

type WriteDone = (error?: Error | null) => void

interface Written {
  readonly chunk: Buffer | string
  readonly encoding: BufferEncoding
}

interface SocketUse {
  readonly write: (bytes: Uint8Array) => void
  readonly together: (write: () => void) => void
  readonly end: () => void
  readonly destroy: () => void
  readonly setReferenced: (isReferenced: boolean) => void
  readonly setNoDelay: (isNoDelay: boolean) => void
  readonly bytesWritten: () => number
}

/**
 * The agent's `net.Socket`, with its stream methods replaced, because it has no handle. Its idle
 * timeout is a timer of the run.
 */
class SocketFacade {
  readonly #waitingForConnect: (() => void)[] = []
  #idleTimer: TapeTimer | undefined

  constructor(
    readonly socket: net.Socket,
    readonly isTls: boolean,
    use: SocketUse,
  ) {
    const whenConnected = (run: () => void): void => {
      if (socket.connecting) this.#waitingForConnect.push(run)
      else run()
    }
    const setReferenced = (isReferenced: boolean): net.Socket => {
      use.setReferenced(isReferenced)
      return socket
    }
    // Set before the connection was taken over. Node's own timer would not follow the tape.
    const early = (socket as { timeout?: number }).timeout
    if (early) setNativeTimeout.call(socket, 0)
    define(socket, { connecting: true })
    const write = ({ chunk, encoding }: Written): void =>
      use.write(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
    const methods: Record<string, unknown> = {
      _read: () => {},
      _write: (chunk: Written['chunk'], encoding: BufferEncoding, done: WriteDone) =>
        whenConnected(() => {
          write({ chunk, encoding })
          done()
        }),
      _writev: (chunks: readonly Written[], done: WriteDone) =>
        whenConnected(() => {
          use.together(() => chunks.forEach(write))
          done()
        }),
      _final: (done: WriteDone) =>
        whenConnected(() => {
          use.end()
          done()
        }),
      _destroy: (error: Error | null, done: WriteDone) => {
        this.#idleTimer?.stop()
        use.destroy()
        define(socket, { connecting: false })
        done(error)
        process.nextTick(() => socket.emit('close', error !== null))
      },
      setTimeout: (ms: number, callback?: () => void) => this.#setIdleTimeout(ms, callback),
      ref: () => setReferenced(true),
      unref: () => setReferenced(false),
      setNoDelay: (isNoDelay?: unknown) => {
        use.setNoDelay(isNoDelay === undefined || Boolean(isNoDelay))
        return socket
      },
      setKeepAlive: () => socket,
      address: () => ({}),
      ...(isTls && TLS_FACADE),
    }
    define(socket, methods)
    defineGetter(socket, 'pending', () => socket.connecting)
    defineGetter(socket, 'bytesWritten', use.bytesWritten)
    if (early) this.#setIdleTimeout(early)
  }

  /** Notifies the agent that it is connected, and sets the readable properties of the socket. */
  connected(facts: Record<string, unknown>): void {
    const { socket } = this
    // The real connection was opened before the recorded opening was delivered.
    if (!socket.connecting) return
    define(socket, { connecting: false })
    define(socket, facts)
    socket.emit('connect')
    if (this.isTls) {
      socket.emit('secure')
      socket.emit('secureConnect')
    }
    socket.emit('ready')
    for (const run of this.#waitingForConnect.splice(0)) run()
  }

  /** Traffic restarts the idle timer. */
  touch(): void {
    this.#idleTimer?.refresh()
  }

  #setIdleTimeout(ms: number, callback?: () => void): net.Socket {
    const { socket } = this
    this.#idleTimer?.stop()
    this.#idleTimer = undefined
    define(socket, { timeout: ms })
    if (callback) {
      if (ms > 0) socket.once('timeout', callback)
      else socket.removeListener('timeout', callback)
    }
    if (ms > 0) {
      this.#idleTimer = new TapeTimer('timeout', Math.trunc(ms), () => socket.emit('timeout'))
      this.#idleTimer.unref()
    }
    return socket
  }
}

/** Methods of a TLS socket that clients call; they return no captured values. */
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

function defineGetter(target: object, key: string, get: () => unknown): void {
  Object.defineProperty(target, key, { get, configurable: true })
}
