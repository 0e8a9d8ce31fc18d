import http2 from 'node:http2'
import { Duplex } from 'node:stream'
import { currentSession, replace, type Undo, undoAll } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { currentBounds } from '../current-bounds.js'
import { endWithCall } from './ended-with-call.js'
import { asHttpWork, checkHttpRequest, checkPeer, hiddenIn } from './http-requests.js'

type Session = http2.ClientHttp2Session
type Headers = http2.OutgoingHttpHeaders | readonly string[]

const origins = new WeakMap<Session, URL>()

/** HTTP/2: a session ends with the call that opened it, and each request on any session is checked. */
export function patchHttp2Sessions(): Undo {
  const connect = http2.connect as (...args: unknown[]) => Session
  const prototype = sessionPrototype()
  const { request } = prototype
  return undoAll([
    replace(http2, 'connect', (authority: string | URL, ...rest: unknown[]): Session => {
      // A run inside the call opens its own connections, which are checked then.
      if (currentSession() !== undefined) return connect(authority, ...rest)
      const bounds = currentBounds()
      const open = (): Session => connect(authority, ...rest)
      const session = bounds.length === 0 ? open() : asHttpWork(open)
      origins.set(session, new URL(authority))
      if (bounds.length > 0) endWithCall(bounds, session)
      return session
    }),
    replace(prototype, 'request', function (this: Session, ...args: Parameters<typeof request>) {
      const bounds = currentBounds()
      if (bounds.length > 0) {
        const origin = origins.get(this) ?? originOf(this)
        checkStream(bounds, origin, args[0] ?? {})
        if (!this.destroyed) checkPeer(bounds, this.socket, origin.hostname)
      }
      return request.apply(this, args)
    }),
  ])
}

/** Origin of a session from before the first guard, as Node stores it. */
function originOf(session: Session): URL {
  const [protocol = 'https:', authority = 'unknown.invalid'] = ['protocol', 'authority'].map(
    (name) => hiddenIn(session, name) as string | undefined,
  )
  return new URL(`${protocol}//${authority}`)
}

/** Node does not export the class, so it is taken from a session that leads nowhere. */
function sessionPrototype(): Session {
  const sink = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() })
  const session = http2.connect('http://localhost', { createConnection: () => sink })
  session.on('error', () => {})
  session.destroy()
  let prototype = Object.getPrototypeOf(session) as Session
  while (!Object.hasOwn(prototype, 'request'))
    prototype = Object.getPrototypeOf(prototype) as Session
  return prototype
}

/** Throws if a request with these headers must not be made. */
export function checkStream(bounds: readonly CallBounds[], origin: URL, headers: Headers): void {
  if (bounds.length === 0) return
  const pseudo = (name: string): string | undefined => {
    const value = Array.isArray(headers)
      ? (headers as string[])[(headers as string[]).indexOf(name) + 1]
      : (headers as http2.OutgoingHttpHeaders)[name]
    return value === undefined ? undefined : String(value)
  }
  const target = `${origin.origin}${pseudo(':path') ?? '/'}`
  checkHttpRequest(bounds, {
    method: pseudo(':method') ?? 'GET',
    url: new URL(URL.canParse(target) ? target : origin),
    host: pseudo(':authority') ?? pseudo('host'),
    isUpgrade: pseudo(':protocol') === 'websocket',
  })
}
