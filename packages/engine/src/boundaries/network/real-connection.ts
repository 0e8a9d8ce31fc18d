import type net from 'node:net'
import type tls from 'node:tls'
import { toWire } from '@retake/tape/format'
import type { Operation } from '../../sessions/session.js'
import { reportEnding } from './report-ending.js'

/** Where a connection leads. */
export interface Target {
  readonly kind: 'tcp' | 'tls' | 'pipe'
  readonly host?: string
  readonly port?: number
  readonly path?: string
}

/**
 * The real counterpart of a connection that the agent holds, once there is one; on
 * replay there never is. What it does is reported to the operation of the connection.
 */
export class RealConnection {
  #socket: net.Socket | undefined
  #isReferenced = true

  constructor(
    readonly target: Target,
    readonly connect: () => net.Socket,
    /** Reads what arrives before it is reported; may mask it in place. */
    readonly read: (bytes: Uint8Array) => void,
  ) {}

  /** There is one, or was. */
  get isThere(): boolean {
    return this.#socket !== undefined
  }

  get isUsable(): boolean {
    return this.#socket?.destroyed === false
  }

  /** Opens it. `isBehind`: the agent thinks that it is connected already. */
  open(operation: Operation, isBehind: boolean): void {
    const real = (this.#socket = this.connect())
    if (!this.#isReferenced) real.unref()
    if (!isBehind) {
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
      this.read(masked)
      operation.complete({ type: 'deliver', part: 'chunk' }, masked, data)
    })
    real.on('end', () => operation.complete({ type: 'deliver', part: 'end' }))
    reportEnding(real, operation)
  }

  write(bytes: Uint8Array): void {
    this.#socket?.write(bytes)
  }

  end(): void {
    this.#socket?.end()
  }

  /** Whether it keeps the process alive, also when it is opened later. */
  setReferenced(isReferenced: boolean): void {
    this.#isReferenced = isReferenced
    if (isReferenced) this.#socket?.ref()
    else this.#socket?.unref()
  }

  destroy(): void {
    this.#socket?.on('error', () => {})
    this.#socket?.destroy()
  }

  /** Lets go of the socket: somebody else uses it from now on. */
  release(): net.Socket | undefined {
    const real = this.#socket
    real?.removeAllListeners()
    this.#socket = undefined
    return real
  }
}

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
