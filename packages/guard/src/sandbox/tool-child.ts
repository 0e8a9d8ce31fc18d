/**
 * The process of a sandboxed tool. Loads its module on the first call. Imports only Node and the
 * protocol, because nothing else is available in the sandbox.
 */
import type http2 from 'node:http2'
import { createRequire } from 'node:module'
import net from 'node:net'
import { pathToFileURL } from 'node:url'
import { receiveFrames, sendFrame } from './frames.js'

/** Message from the guard to the tool. */
export interface ToolRequest {
  readonly id: number
  readonly args: unknown
  readonly idempotencyKey: string
  readonly attempt: number
}

/** Message from the tool to the guard. */
export type ToolReply =
  | { readonly loaded: true }
  | ({ readonly id: number; readonly isLast?: true } & (
      | { readonly output: unknown }
      | { readonly error: SentError }
    ))
  | { readonly id: number; readonly use: unknown }

/** An error as sent to the guard. A structured clone would lose its properties. */
export interface SentError {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  /** Properties with plain values, such as `code`, `path` and `status`. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly cause?: SentError
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === 'function'

type Tool = (args: unknown, context: object) => unknown

const [, , file = '', exported = 'default', gateway = '', isAlone = ''] = process.argv
const CHANNEL_FD = 3
const channel = new net.Socket({ fd: CHANNEL_FD, readable: true, writable: true })
const reply = (message: ToolReply): void => sendFrame(channel, message)

function sent(thrown: unknown, depth = 0): SentError {
  if (!(thrown instanceof Error)) return { name: 'Error', message: String(thrown), fields: {} }
  const fields = Object.entries(thrown).filter(([, value]) =>
    /^(?:string|number|boolean)$/.test(typeof value),
  )
  return {
    name: thrown.name,
    message: thrown.message,
    stack: thrown.stack,
    fields: Object.fromEntries(fields),
    ...(thrown.cause !== undefined && depth < 8 && { cause: sent(thrown.cause, depth + 1) }),
  }
}

/** Without these modules, only native code can start a process. */
const STARTS_PROCESSES = /^NativeModule (?:child_process|worker_threads)$/
let mayStart = false
let modules = 0

/** True if a process that the module has started is still running. */
function leavesProcesses(): boolean {
  if (isAlone === '') return false
  const { moduleLoadList: list } = process as unknown as { moduleLoadList: readonly string[] }
  if (list.length > modules)
    mayStart ||= list.slice(modules).some((each) => STARTS_PROCESSES.test(each))
  modules = list.length
  if (!mayStart) return false
  try {
    // Signal 0 to all other processes of the sandbox fails if there are none.
    return process.kill(-1, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

let loaded: Tool | undefined

async function load(): Promise<Tool> {
  const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>
  const tool = module[exported]
  if (typeof tool !== 'function')
    throw new TypeError(`${file} has no function "${exported}" among its exports`)
  reply({ loaded: true })
  return (loaded = tool as Tool)
}

async function answer(request: ToolRequest): Promise<void> {
  const { id, args, idempotencyKey, attempt } = request
  let controller: AbortController | undefined
  const context = {
    idempotencyKey,
    attempt,
    use: (usage: unknown): void => reply({ id, use: usage }),
    // Never aborted. To abandon a call, the guard ends this process.
    get signal(): AbortSignal {
      return (controller ??= new AbortController()).signal
    },
  }
  const end = (outcome: { output: unknown } | { error: SentError }): void => {
    const isLast = loaded === undefined || leavesProcesses()
    reply({ id, ...outcome, ...(isLast && { isLast }) })
  }
  try {
    const tool = loaded ?? (await load())
    const output = tool(args, context)
    end({ output: isPromise(output) ? await output : output })
  } catch (error) {
    end({ error: sent(error) })
  }
}

const REFUSED = { code: 'ECONNREFUSED', syscall: 'connect' }

/**
 * Sends every TCP connection through the guard. Redirects connections to a port on the loopback of
 * the sandbox, so that TLS, HTTP and database drivers work unchanged.
 */
function connectThroughGuard(descriptor: number): void {
  const { connect: nativeConnect } = net.Socket.prototype as {
    connect: (this: net.Socket, ...args: unknown[]) => net.Socket
  }
  let session: http2.ClientHttp2Session | undefined
  /** Opened on demand: most tools never connect, and loading HTTP/2 takes a tenth of the first call. */
  const opened = (): http2.ClientHttp2Session => {
    const { connect } = createRequire(import.meta.url)('node:http2') as typeof http2
    const pipe = new net.Socket({ fd: descriptor, readable: true, writable: true })
    const made = connect('http://guard', { createConnection: () => pipe })
    made.unref()
    return made.on('error', () => {})
  }
  const ports = new Map<string, number>()
  /** Streams that the guard has connected to a target and no connection uses yet. */
  const connected = new Map<string, http2.ClientHttp2Stream[]>()

  const relayTo = (target: string): number => {
    const known = ports.get(target)
    if (known !== undefined) return known
    const server = net.createServer({ pauseOnConnect: true, allowHalfOpen: true }, (inner) => {
      const outer = connected.get(target)?.shift()
      if (outer === undefined || outer.closed) return inner.resetAndDestroy()
      inner.on('error', () => outer.close())
      outer.on('error', () => inner.resetAndDestroy())
      inner.pipe(outer).pipe(inner)
      inner.resume()
      return inner
    })
    server.listen(0).unref()
    const { port } = server.address() as net.AddressInfo
    ports.set(target, port)
    return port
  }

  /** Connects before accepting: some clients wait forever for an accepted connection that is reset. */
  const connectTo = (
    target: string,
    done: (error: Error | null, address: string) => void,
  ): void => {
    session ??= opened()
    const outer = session.request({ ':method': 'CONNECT', ':authority': target })
    const fail = (): void =>
      done(Object.assign(new Error(`connect ECONNREFUSED ${target}`), REFUSED), '')
    outer.once('error', fail)
    outer.once('response', () => {
      outer.off('error', fail)
      outer.on('error', () => {})
      const streams = connected.get(target)
      if (streams === undefined) connected.set(target, [outer])
      else streams.push(outer)
      done(null, '127.0.0.1')
    })
  }

  net.Socket.prototype.connect = function (this: net.Socket, ...args: unknown[]): net.Socket {
    // Node itself passes normalized arguments as one array.
    const [options, callback] = (Array.isArray(args[0]) ? args[0] : normalize(args)) as [
      { path?: string | null; host?: string; port?: number | string },
      unknown,
    ]
    // HTTP agents set an empty `path`.
    const isLocal = Boolean(options.path) || options.port === undefined
    if (isLocal) return nativeConnect.apply(this, args)
    const host = options.host ?? 'localhost'
    const target = `${net.isIPv6(host) ? `[${host}]` : host}:${options.port}`
    const redirected = {
      ...options,
      // A name, so that Node waits for `lookup`.
      host: 'relay.invalid',
      port: relayTo(target),
      family: 4,
      autoSelectFamily: false,
      lookup: (_name: string, _options: unknown, done: (...found: unknown[]) => void) =>
        connectTo(target, (error, address) => done(error, address, 4)),
      localAddress: undefined,
    }
    return nativeConnect.call(
      this,
      redirected,
      ...(typeof callback === 'function' ? [callback] : []),
    )
  }
}

function normalize(args: readonly unknown[]): [object, unknown] {
  const callback = args.find((each) => typeof each === 'function')
  if (typeof args[0] === 'object' && args[0] !== null) return [args[0], callback]
  if (typeof args[0] === 'string' && Number.isNaN(Number(args[0])))
    return [{ path: args[0] }, callback]
  return [{ port: args[0], ...(typeof args[1] === 'string' && { host: args[1] }) }, callback]
}

// By default, SIGUSR1 starts the debugger.
process.on('SIGUSR1', () => {})
if (gateway !== '') connectThroughGuard(Number(gateway))
receiveFrames(
  channel,
  (request) => void answer(request as ToolRequest),
  () => process.exit(),
)
