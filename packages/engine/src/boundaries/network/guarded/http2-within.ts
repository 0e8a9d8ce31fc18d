import type http2 from 'node:http2'
import type { CallBounds } from '../../../guard/bounds/call-bounds.js'
import { currentBounds } from '../../../scope.js'
import { asHttpWork } from './http-work.js'
import { holdForCall } from './watched-sockets.js'
import { withTarget } from './with-target.js'

type Connect = typeof http2.connect
type Session = http2.ClientHttp2Session

interface Opened {
  readonly origin: URL
  readonly bounds: readonly CallBounds[]
}

const sessions = new WeakMap<Session, Opened>()
const patched = new WeakSet<object>()

/**
 * HTTP/2 on behalf of guarded calls: a session ends with the call that has opened it, and
 * each request on any session is judged by those who make it.
 */
export function http2Within(native: Connect): Connect {
  return (authority: string | URL, ...rest: unknown[]) => {
    const bounds = currentBounds()
    const connect = native as (...args: unknown[]) => Session
    const session =
      bounds.length === 0
        ? connect(authority, ...rest)
        : asHttpWork(() => connect(authority, ...rest))
    sessions.set(session, { origin: new URL(authority), bounds })
    patchRequests(session)
    if (bounds.length > 0) holdForCall(bounds, session)
    return session
  }
}

/** The class has no name outside of Node: its first session leads to it. */
function patchRequests(session: Session): void {
  const prototype = prototypeWith(session, 'request')
  if (prototype === undefined || patched.has(prototype)) return
  patched.add(prototype)
  const native = (prototype as Session).request
  Object.defineProperty(prototype, 'request', {
    value: function request(this: Session, ...args: Parameters<typeof native>) {
      const bounds = currentBounds()
      if (bounds.length > 0) checkRequest(bounds, this, args[0] ?? {})
      return native.apply(this, args)
    },
    writable: true,
    configurable: true,
    enumerable: false,
  })
}

function checkRequest(
  bounds: readonly CallBounds[],
  session: Session,
  headers: http2.OutgoingHttpHeaders | readonly string[],
): void {
  const opened = sessions.get(session)
  const origin = opened?.origin ?? new URL(session.originSet?.[0] ?? 'http://unknown.invalid')
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

function prototypeWith(value: object, name: string): object | undefined {
  let each = Object.getPrototypeOf(value) as object | null
  while (each !== null && !Object.hasOwn(each, name)) each = Object.getPrototypeOf(each) as object
  return each ?? undefined
}
