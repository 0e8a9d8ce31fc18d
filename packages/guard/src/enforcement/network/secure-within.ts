import net from 'node:net'
import tls from 'node:tls'
import { currentSession, replace, type Undo } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { currentBounds } from '../current-bounds.js'
import { refuse } from './connect-within.js'
import { checkOpen, isWatched, placeOf, watchSocket } from './watched-sockets.js'

type Connect = (...args: unknown[]) => tls.TLSSocket

/**
 * TLS on behalf of guarded calls. A connection that it opens itself is judged where all
 * are; over one that is given, the handshake would go out without being seen.
 */
export function patchSecureSockets(): Undo {
  const native = tls.connect as Connect
  return replace(tls, 'connect', (...args: unknown[]) => {
    const bounds = currentBounds()
    // A run inside the call opens its own connections, which are judged then.
    return bounds.length === 0 || currentSession() !== undefined
      ? native(...args)
      : secureWithin(bounds, args, native)
  })
}

function secureWithin(
  bounds: readonly CallBounds[],
  args: readonly unknown[],
  native: Connect,
): tls.TLSSocket {
  const under = args.map(givenSocket).find((each) => each !== undefined)
  if (under === undefined) return native(...args)
  if (!isWatched(under)) {
    try {
      checkOpen(bounds, under)
    } catch (error) {
      return refuse(new net.Socket(), error) as tls.TLSSocket
    }
  }
  const socket = native(...args)
  const { remoteAddress: host = '', remotePort: port = 0 } = under
  watchSocket(bounds, socket, placeOf(under) ?? { host, port })
  return socket
}

function givenSocket(options: unknown): net.Socket | undefined {
  if (typeof options !== 'object' || options === null || !('socket' in options)) return undefined
  return options.socket instanceof net.Socket ? options.socket : undefined
}
