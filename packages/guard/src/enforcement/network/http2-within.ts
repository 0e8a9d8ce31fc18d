import http2 from 'node:http2'
import { Duplex } from 'node:stream'
import { currentSession, replace, type Undo, undoAll } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { currentBounds } from '../current-bounds.js'
import { asHttpWork } from './http-requests.js'
import { endWithCall, withTarget } from './watched-sockets.js'

type Session = http2.ClientHttp2Session

interface Opened {
  readonly origin: URL
  readonly bounds: readonly CallBounds[]
}

const sessions = new WeakMap<Session, Opened>()

/**
 * HTTP/2 on behalf of guarded calls: a session ends with the call that has opened it, and
 * each request on any session is judged by those who make it.
 */
export function patchHttp2Sessions(): Undo {
  const connect = http2.connect as (...args: unknown[]) => Session
  const patched = (authority: string | URL, ...rest: unknown[]): Session => {
    // A run inside the call opens its own connections, which are judged then.
    if (currentSession() !== undefined) return connect(authority, ...rest)
    const bounds = currentBounds()
    const session =
      bounds.length === 0
        ? connect(authority, ...rest)
        : asHttpWork(() => connect(authority, ...rest))
    sessions.set(session, { origin: new URL(authority), bounds })
    if (bounds.length > 0) endWithCall(bounds, session)
    return session
  }
  return undoAll([replace(http2, 'connect', patched), patchRequests()])
}

function patchRequests(): Undo {
  const prototype = sessionPrototype()
  const { request: native } = prototype
  return replace(
    prototype,
    'request',
    function (this: Session, ...args: Parameters<typeof native>) {
      const bounds = currentBounds()
      if (bounds.length > 0) checkRequest(bounds, this, args[0] ?? {})
      return native.apply(this, args)
    },
  )
}

/** The class has no name outside of Node: a session that leads nowhere leads to it. */
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

function checkRequest(
  bounds: readonly CallBounds[],
  session: Session,
  headers: http2.OutgoingHttpHeaders | readonly string[],
): void {
  const opened = sessions.get(session)
  const origin = opened?.origin ?? originOf(session)
  checkStream(bounds, origin, headers)
  const strangers = bounds.filter((each) => opened?.bounds.includes(each) !== true)
  const judge = (): void => {
    const { remoteAddress = '', remotePort = 0 } = session.socket
    for (const each of strangers) each.address(remoteAddress, remotePort, origin.hostname)
  }
  if (strangers.length === 0) return
  if (!session.connecting) return judge()
  session.prependOnceListener('connect', () => {
    try {
      judge()
    } catch (error) {
      session.destroy(error as Error)
    }
  })
}

/** Origin of a session that was opened before the first guard. Node stores it under symbols. */
function originOf(session: Session): URL {
  const known = (name: string): string => {
    const key = Object.getOwnPropertySymbols(session).find(
      ({ description }) => description === name,
    )
    return key === undefined ? '' : String((session as unknown as Record<symbol, unknown>)[key])
  }
  const origin = `${known('protocol')}//${known('authority')}`
  return new URL(URL.canParse(origin) ? origin : 'http://unknown.invalid')
}

/** Throws when a request with these headers must not be made. */
export function checkStream(
  bounds: readonly CallBounds[],
  origin: URL,
  headers: http2.OutgoingHttpHeaders | readonly string[],
): void {
  if (bounds.length === 0) return
  const pseudo = (name: string): string | undefined => {
    const value = Array.isArray(headers)
      ? (headers as string[])[(headers as string[]).indexOf(name) + 1]
      : (headers as http2.OutgoingHttpHeaders)[name]
    return value === undefined ? undefined : String(value)
  }
  const method = pseudo(':method') ?? 'GET'
  const scheme = pseudo(':protocol') === 'websocket' ? 'ws:' : origin.protocol
  const authority = pseudo(':authority') ?? pseudo('host') ?? origin.host
  const text = `${scheme}//${authority}`
  const url = new URL(URL.canParse(text) ? text : origin)
  if (url.port === '' && !/:\d+$/.test(authority)) url.port = origin.port
  withTarget(url, pseudo(':path') ?? '/')
  for (const each of bounds) {
    each.request(method, url)
    each.sent()
  }
}
