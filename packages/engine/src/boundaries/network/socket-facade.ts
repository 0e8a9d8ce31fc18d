import net from 'node:net'
import { TapeTimer } from '../tape-timer.js'

const { setTimeout: setNativeTimeout } = net.Socket.prototype
const clearNativeTimeout = (socket: net.Socket): unknown => setNativeTimeout.call(socket, 0)

type WriteDone = (error?: Error | null) => void

/** What becomes of what the agent does with its socket. */
export interface SocketUse {
  readonly write: (bytes: Uint8Array) => void
  readonly end: () => void
  readonly destroy: () => void
  /** Whether the connection keeps the process alive. */
  readonly setReferenced: (isReferenced: boolean) => void
  readonly bytesWritten: () => number
}

/**
 * An ordinary `net.Socket` in the hands of the agent, with its stream methods
 * replaced: there is no handle behind it. Its idle timeout is a timer of the run.
 */
export class SocketFacade {
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
    // Set before the connection was taken over: Node's own timer would run beside the tape.
    const early = (socket as { timeout?: number }).timeout
    if (early) clearNativeTimeout(socket)
    define(socket, 'connecting', true)
    const methods: Record<string, unknown> = {
      _read: () => {},
      _write: (chunk: Buffer, encoding: BufferEncoding, done: WriteDone) =>
        whenConnected(() => {
          use.write(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
          done()
        }),
      _writev: null,
      _final: (done: WriteDone) =>
        whenConnected(() => {
          use.end()
          done()
        }),
      _destroy: (error: Error | null, done: WriteDone) => {
        this.#idleTimer?.stop()
        use.destroy()
        define(socket, 'connecting', false)
        done(error)
        process.nextTick(() => socket.emit('close', error !== null))
      },
      setTimeout: (ms: number, callback?: () => void) => this.#setIdleTimeout(ms, callback),
      ref: () => setReferenced(true),
      unref: () => setReferenced(false),
      setNoDelay: () => socket,
      setKeepAlive: () => socket,
      address: () => ({}),
      ...(isTls && TLS_FACADE),
    }
    for (const [name, value] of Object.entries(methods)) define(socket, name, value)
    defineGetter(socket, 'pending', () => socket.connecting)
    defineGetter(socket, 'bytesWritten', use.bytesWritten)
    if (early) this.#setIdleTimeout(early)
  }

  /** Tells the agent that it is connected, with what it can read off the socket from now on. */
  connected(facts: Record<string, unknown>): void {
    const { socket } = this
    // Opened for real while the recorded opening was on its way.
    if (!socket.connecting) return
    define(socket, 'connecting', false)
    for (const [name, value] of Object.entries(facts)) define(socket, name, value)
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
