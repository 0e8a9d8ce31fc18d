import type net from 'node:net'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { HttpWrites } from '../../bounds/http-writes.js'
import type { Denial } from '../../denials/guard-error.js'
import type { NetworkBounds, Peer } from '../../bounds/network-bounds.js'
import { refusalIn } from '../../bounds/current-bounds.js'

type Done = (error?: Error | null) => void
interface Written {
  readonly chunk: string | Uint8Array
  readonly encoding: BufferEncoding
}
/** Any stream can be the connection of a request. */
interface Writable {
  _write(chunk: Written['chunk'], encoding: BufferEncoding, done: Done): void
  _writev?: ((chunks: readonly Written[], done: Done) => void) | null
}

interface Watch {
  /** The calls that write now; empty while other code uses the connection. */
  bounds: readonly CallBounds[]
  peer: Peer
  writes: HttpWrites
}

const watches = new WeakMap<object, Watch>()

/**
 * Judges every request that is written to a connection, whatever its client has declared: a body
 * without a length, for example, is another request for the server.
 */
export function watchRequests(
  socket: net.Socket,
  bounds: readonly CallBounds[],
  peer: Peer,
): Watch | undefined {
  const known = watches.get(socket)
  if (known !== undefined) return known
  const isScoped = bounds.some(({ scopes }) => scopes.some(({ network }) => network))
  const stream = socket as unknown as Writable
  if (!isScoped || typeof stream._write !== 'function') return undefined
  const watch: Watch = { bounds, peer, writes: newWrites(() => watch) }
  watches.set(socket, watch)
  const { _write, _writev } = stream
  const refusalOf = (pieces: readonly Written[]): Error | undefined =>
    watch.bounds.length === 0 || watch.bounds.some(({ isOver }) => isOver)
      ? undefined
      : refusalIn(() => {
          for (const { chunk, encoding } of pieces) {
            const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
            const problem = watch.writes.push(bytes)
            if (problem === undefined) continue
            for (const each of watch.bounds)
              each.network((scope) => scope.framing(problem, watch.peer))
          }
        })
  define(stream, '_write', (chunk: Written['chunk'], encoding: BufferEncoding, done: Done) => {
    const refusal = refusalOf([{ chunk, encoding }])
    if (refusal) done(refusal)
    else _write.call(stream, chunk, encoding, done)
  })
  if (typeof _writev === 'function')
    define(stream, '_writev', (chunks: readonly Written[], done: Done) => {
      const refusal = refusalOf(chunks)
      if (refusal) done(refusal)
      else _writev.call(stream, chunks, done)
    })
  return watch
}

const newWrites = (watchOf: () => Watch): HttpWrites => {
  const check = (denial: (scope: NetworkBounds, peer: Peer) => Denial | undefined): void => {
    const { bounds, peer } = watchOf()
    for (const each of bounds) each.network((scope) => denial(scope, peer))
  }
  return new HttpWrites(
    (head) => check((scope, peer) => scope.checkWritten(head, peer)),
    (first) => {
      // TLS, SOCKS and HTTP/2 lead to requests that are judged above this connection.
      const isLayer = [0x16, 4, 5].includes(first)
      if (!isLayer) check((scope, { host }) => scope.checkRaw(host))
    },
  )
}

const define = (target: object, key: string, value: unknown): unknown =>
  Object.defineProperty(target, key, { value, writable: true, configurable: true })

/** A client is about to write one request, for these calls or, if there are none, for other code. */
export function announceRequest(
  socket: net.Socket,
  bounds: readonly CallBounds[],
  peer: Peer,
): void {
  const watch = watchRequests(socket, bounds, peer)
  if (watch === undefined) return
  if (watch.bounds.length === 0) watch.writes = newWrites(() => watch)
  watch.bounds = bounds
  watch.peer = peer
  if (bounds.length > 0) watch.writes.announce()
}
