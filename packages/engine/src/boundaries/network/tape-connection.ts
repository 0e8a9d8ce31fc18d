import type net from 'node:net'
import { fromWire, Http1Scanner, rebuildError } from '@retake/tape/format'
import { lostAnswer, SILENCE_MS } from '../../player/lost-answer.js'
import { natives } from '../../natives.js'
import { currentSession, outsideRuns } from '../../scope.js'
import type { Delivery, Operation, Session } from '../../sessions/session.js'
import { RealConnection } from './real-connection.js'
import type { Target } from './real-connection.js'
import { SocketFacade } from './socket-facade.js'
import { replaceBody, WrittenRequests } from './written-requests.js'

/**
 * One connection of the agent, which holds an ordinary `net.Socket` whose stream
 * methods are replaced (`SocketFacade`). What it writes becomes `request` events, or
 * passes as opaque bytes (`WrittenRequests`); what it reads comes through the gate.
 * While recording a real socket stands behind it (`RealConnection`), on replay
 * nothing does.
 *
 * Writes are not part of the total order, only completed requests are; answers
 * are held back until as much was written as when they were recorded.
 */
export class TapeConnection {
  static readonly #adopted = new WeakMap<net.Socket, TapeConnection>()

  readonly #operation: Operation
  readonly #facade: SocketFacade
  readonly #requests: WrittenRequests
  readonly #responses = new Http1Scanner('response', {
    maskValuesOf: ['set-cookie'],
    onMasked: (value) => this.session.secrets.hide(value),
    dropBodies: true,
  })
  readonly #real: RealConnection
  /** Runs while the answer to a request that was served before the run went live is awaited. */
  #awaited: NodeJS.Timeout | undefined
  /** Opened by the tape, and still there when the run went live. */
  #isHandedOver = false
  /** Nobody is at the other end any more, and the agent is about to be told. */
  #isLost = false

  constructor(
    readonly session: Session,
    readonly socket: net.Socket,
    readonly target: Target,
    /** Makes the real counterpart; never called on replay. */
    connect: () => net.Socket,
  ) {
    TapeConnection.#adopted.set(socket, this)
    this.#real = new RealConnection(target, connect, (bytes) => void this.#readHttp(bytes))
    this.#requests = new WrittenRequests(session, {
      target,
      connection: () => this.#operation.id,
      isServed: () => this.#isServed,
      send: (bytes) => this.#send(bytes),
      onRequest: ({ method }) => this.#responses.expect(method),
    })
    this.#facade = new SocketFacade(socket, target.kind === 'tls', {
      write: (bytes) => {
        this.#noteForeignRun()
        this.#requests.write(bytes)
        this.#facade.touch()
        session.proceed()
      },
      end: () => outsideRuns(() => this.#real.end()),
      destroy: () => this.#destroy(),
      setReferenced: (isReferenced) => this.#real.setReferenced(isReferenced),
      bytesWritten: () => this.#requests.count,
    })
    this.#operation = session.perform({
      event: { type: 'socket', ...target },
      start: (operation, edited) => this.#start(operation, edited),
      handOver: (operation) => this.#handOver(operation),
      deliver: (delivery) => this.#deliver(delivery),
      stamp: () => this.#requests.stamp(),
      digestAt: (written) => this.#requests.digestAt(written),
    })
  }

  static of(socket: net.Socket): TapeConnection | undefined {
    return TapeConnection.#adopted.get(socket)
  }

  /** TLS starts on top of this connection: its real socket now belongs to the new one. */
  handOver(): net.Socket | undefined {
    const real = this.#real.release()
    this.#operation.close()
    return real
  }

  // ── the real side ─────────────────────────────────────────────────────────

  /** A connection that the tape has opened is opened again behind the agent's back, and sends what has no answer yet. */
  #start(operation: Operation, edited: Uint8Array | undefined): void {
    const isOpen = !this.socket.connecting
    if (!isOpen || !this.#real.isUsable) this.#real.open(operation, isOpen)
    if (!isOpen) return
    const { unanswered } = this.#requests
    const again = edited ? [replaceBody(unanswered, edited)] : unanswered
    for (const bytes of again) this.#real.write(bytes)
  }

  /** The run went live. HTTP goes on over a new connection when it is needed; nothing else can. */
  #handOver(operation: Operation): void {
    if (this.#real.isThere) return
    this.#isHandedOver = true
    if (this.socket.connecting) this.#real.open(operation, false)
    else if (!this.#requests.isHttp || this.#requests.upgraded) this.#loseSoon(operation)
    // As an open connection would, it keeps the process alive while an answer is awaited.
    else if (this.#requests.unanswered.length > 0)
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

  get #isServed(): boolean {
    return this.#operation.source !== 'live'
  }

  #send(bytes: Uint8Array): void {
    if (this.#isServed || this.#isLost) return
    outsideRuns(() => {
      if (!this.#real.isThere && !this.#operation.closed) this.#real.open(this.#operation, true)
      this.#real.write(bytes)
    })
  }

  /** Pools of other libraries may hand one run's connection to another: that request is on the wrong tape. */
  #noteForeignRun(): void {
    const current = currentSession()
    if (current === undefined || current === this.session) return
    current.note({
      kind: 'boundary',
      name: 'shared connection',
      text: `a connection to ${this.target.host}:${this.target.port} was opened by another run; wrap the call in tool(), or use one client per run`,
      consequence: 'replay stops there',
    })
  }

  #destroy(): void {
    this.#operation.close()
    this.#requests.close()
    natives.clearTimeout(this.#awaited)
    outsideRuns(() => this.#real.destroy())
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
        // What comes from outside was read when it arrived.
        if (native === undefined && this.#readHttp(new Uint8Array(body))) this.#answered()
        if (this.#responses.upgraded) this.#upgraded()
        socket.push(
          native === undefined ? Buffer.from(this.#requests.served(body)) : (native as Buffer),
        )
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

  /** Reads a piece of an answer, and masks it in place. Whether an answer is complete with it. */
  #readHttp(bytes: Uint8Array): boolean {
    if (!this.#requests.isHttp || this.#responses.upgraded) return false
    return this.#responses.push(bytes).length > 0
  }

  #upgraded(): void {
    this.#requests.upgrade()
    // The other end agreed to that long ago, on a connection that is no more.
    if (this.#isHandedOver && !this.#real.isThere && !this.#isLost) this.#loseSoon(this.#operation)
  }

  #answered(): void {
    this.#requests.answered()
    natives.clearTimeout(this.#awaited)
  }
}
