import {
  clientProvider,
  isRecord,
  jsonAnswer,
  makeReply,
  parseJson,
  type Provider,
  PROVIDERS,
  scriptedAt,
  type ScriptedError,
  type ScriptedFormat,
  type WireAnswer,
} from '@retake/tape'
import {
  createServer as createHttp1Server,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { errors, RetakeError } from '../errors.js'
import { type Arrived, type ModelRequest, toModelRequest } from './model-request.js'
import { Script, type ScriptedAnswer } from './script.js'
import {
  constants,
  createServer as createHttp2Server,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { redirectVariables } from '../proxy/base-url-variables.js'
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface ModelServerOptions {
  /**
   * Answers in order, over all model requests; for concurrent agents see `ScriptedAnswer.when`.
   * After the last one, the server returns status 500.
   */
  readonly answers?: readonly ScriptedAnswer[]
  /** Decides for each request; overrides `answers`. */
  readonly answer?: (request: ModelRequest) => ScriptedAnswer | Promise<ScriptedAnswer>
  /** Default: any free port. */
  readonly port?: number
}

export interface ModelServer {
  /** `http://127.0.0.1:<port>`: HTTP/1.1, and HTTP/2 with prior knowledge. */
  readonly url: string
  readonly port: number
  /** Requests to models, including embeddings, in the order of arrival. */
  readonly requests: readonly ModelRequest[]
  /** Answers of the script that have not been used yet. */
  readonly unused: readonly ScriptedAnswer[]
  /** Variables that point the SDK of every known provider to the server, with made-up keys. */
  readonly env: Readonly<Record<string, string>>
  /** Cuts every connection. */
  stop(): Promise<void>
}

/**
 * Starts a scripted model on the loopback address, with the wire formats of all known providers,
 * distinguished by path. Ids and times in its answers are derived from the number of the request,
 * so a script always gives the same bytes. It does not validate requests: no key, no schema, no
 * context limit.
 */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  checkScript(options.answers ?? [])
  const script = new Script(options.answers ?? [])
  const requests: ModelRequest[] = []
  const decide = options.answer ?? ((request: ModelRequest) => script.next(request))
  let arrivals = 0

  const answerModel = async (
    { format, owner }: { readonly format: ScriptedFormat; readonly owner: Provider },
    arrived: Arrived,
    response: ServerResponse,
  ): Promise<void> => {
    const numbered = { ...arrived, number: requests.length + 1 }
    const request = toModelRequest(numbered, format.format)
    requests.push(request)
    const meant = { ...request, ...dialectOf(request) }
    const answer = format.isComputed?.(meant) === true ? {} : await decide(request)
    const promptText = request.messages.map(({ text }) => text).join('')
    const wire =
      answer.error === undefined
        ? format.answer(makeReply(answer, { ...request, promptText }), meant)
        : writeFailure(owner, answer.error, request)
    await sendAnswer(response, wire, answer)
  }

  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const arrived = await readArrived(message, ++arrivals)
    const path = arrived.path.replace(/\?.*$/, '')
    const scripted = arrived.method === 'POST' ? scriptedAt(path) : undefined
    try {
      if (arrived.problem !== undefined) throw arrived.problem
      if (scripted !== undefined) return await answerModel(scripted, arrived, response)
      const [listing] = PROVIDERS.flatMap(
        ({ answerListing }) => answerListing?.({ ...arrived, path }) ?? [],
      )
      if (listing === undefined) throw errors.MODEL_SERVER_NO_ENDPOINT(arrived.method, path)
      await sendAnswer(response, jsonAnswer(listing))
    } catch (error) {
      const owner = scripted?.owner ?? providerNamed(arrived.provider)
      const wire = writeFailure(owner, failureOf(error), arrived)
      // A retry would fail the same way.
      await sendAnswer(response, {
        ...wire,
        headers: { ...wire.headers, 'x-should-retry': 'false' },
      })
    }
  }

  const listening = await listenOnOnePort(options.port ?? 0, (message, response) => {
    // Clients may disconnect at any time.
    message.on('error', () => {})
    response.on('error', () => {})
    handle(message, response).catch(() => void response.destroy())
  })
  const url = `http://127.0.0.1:${listening.port}`
  return {
    url,
    port: listening.port,
    requests,
    get unused() {
      return script.unused
    },
    env: serverVariables(url),
    stop: () => listening.close(),
  }
}

const providerNamed = (id: string): Provider | undefined =>
  PROVIDERS.find((provider) => providerId(provider) === id)

/** The dialect of the provider that a client wants to reach. */
function dialectOf({ provider }: Arrived): Pick<Provider, 'dialect'> {
  const dialect = providerNamed(provider)?.dialect
  return dialect === undefined ? {} : { dialect }
}

function writeFailure(owner: Provider | undefined, error: ScriptedError, request: Arrived) {
  const write = owner?.failure ?? providerNamed('openai')?.failure
  return (
    write?.(error, { ...request, ...dialectOf(request) }) ?? jsonAnswer(error, {}, error.status)
  )
}

/**
 * Retake's own errors have a status; an error of the user's `answer` function becomes a 500 with
 * its message.
 */
function failureOf(error: unknown): { status: number; message: string; code?: string } {
  if (!(error instanceof RetakeError)) return { status: 500, message: String(error) }
  const status = { MODEL_SERVER_NO_ENDPOINT: 404, MODEL_SERVER_BAD_REQUEST: 400 }[error.code] ?? 500
  return { status, message: error.message }
}

/** Writes an answer piece by piece, so that a stream arrives as a stream. */
async function sendAnswer(
  response: ServerResponse,
  { status, headers, pieces }: WireAnswer,
  { delayMs = 0, breakAfter }: Pick<ScriptedAnswer, 'delayMs' | 'breakAfter'> = {},
): Promise<void> {
  // Unreferenced: a stopped server does not keep the process alive.
  if (delayMs > 0) await setTimeout(delayMs, undefined, { ref: false })
  if (response.destroyed) return
  const isStream = pieces.length > 1
  const [only = ''] = pieces
  response.sendDate = false
  response.writeHead(status, {
    ...headers,
    ...(!isStream && { 'content-length': Buffer.byteLength(only) }),
  })
  for (const [index, piece] of pieces.entries()) {
    if (index === breakAfter) return breakOff(response)
    if (response.destroyed) return
    response.write(piece)
    if (isStream) await setImmediate()
  }
  response.end()
}

/** Makes the client notice: an HTTP/2 stream that is merely closed looks complete. */
function breakOff(response: ServerResponse | Http2ServerResponse): void {
  if ('stream' in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  else response.destroy()
}

interface OnePort {
  readonly port: number
  close(): Promise<void>
}

/** The first bytes of an HTTP/2 connection with prior knowledge. */
const HTTP2_PREFACE = 'PRI'

/**
 * Serves HTTP/1.1 and cleartext HTTP/2 with prior knowledge on one port: AWS
 * clients speak the latter to any `http://` address. The first bytes of a
 * connection decide.
 */
function listenOnOnePort(port: number, listener: RequestListener): Promise<OnePort> {
  const http1 = createHttp1Server({ keepAliveTimeout: 60_000, requestTimeout: 0 }, listener)
  // The compatibility API of http2 has the same requests and responses, as far as they are used
  // here.
  const http2 = createHttp2Server(listener as unknown as Parameters<typeof createHttp2Server>[0])
  const sockets = new Set<Socket>()
  const sessions = new Set<ServerHttp2Session>()
  http1.on('clientError', (_error, socket) => void socket.destroy())
  http2.on('sessionError', () => {})
  http2.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
  })

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.setNoDelay(true)
    socket.once('data', (bytes: Buffer) => {
      socket.pause()
      socket.unshift(bytes)
      const isHttp2 = bytes.toString('latin1', 0, HTTP2_PREFACE.length) === HTTP2_PREFACE
      ;(isHttp2 ? http2 : http1).emit('connection', socket)
      if (!isHttp2) socket.resume()
    })
  })

  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(errors.MODEL_SERVER_PORT(port, cause)))
    server.listen({ port, host: '127.0.0.1' }, () => {
      server.removeAllListeners('error')
      server.on('error', () => {})
      resolve({ port: (server.address() as AddressInfo).port, close })
    })
  })

  function close(): Promise<void> {
    return new Promise((resolve) => {
      server.close(() => resolve())
      for (const session of sessions) session.destroy()
      for (const socket of sockets) socket.destroy()
    })
  }
}

/** Base URL of providers without a public address: only its path is used. */
const ANY_ADDRESS = 'https://anywhere.invalid'

/**
 * Variables that point the SDKs of all known providers to a server, each below the provider's own
 * path, with fake keys.
 */
function serverVariables(url: string): Record<string, string> {
  const addresses = PROVIDERS.flatMap(({ address }) => address ?? [])
  const given = addresses.flatMap(({ base = ANY_ADDRESS, variables = [], whenSet = [] }) =>
    [...variables, ...whenSet].map((variable) => [variable, base] as const),
  )
  const names = addresses.flatMap(({ keys = [] }) => keys)
  const keys = Object.fromEntries(
    names.map((name) => [name, `made-up-${name.toLowerCase().replaceAll('_', '-')}`]),
  )
  const { variables } = redirectVariables({ ...keys, ...Object.fromEntries(given) })
  return Object.fromEntries([
    ...Object.entries(variables).map(([name, path]) => [name, url + path] as const),
    ...Object.entries(keys),
    ...addresses.flatMap(({ testVariables = {} }) => Object.entries(testVariables)),
  ])
}

/** The type makes it complete: a new property of an answer must be added here. */
const KNOWN: Readonly<Record<keyof ScriptedAnswer, true>> = {
  text: true,
  reasoning: true,
  toolCalls: true,
  usage: true,
  finish: true,
  error: true,
  delayMs: true,
  chunks: true,
  breakAfter: true,
  when: true,
}

/** Scripts are often JSON, where a typo would produce a silent model. */
function checkScript(answers: readonly ScriptedAnswer[]): void {
  if (!Array.isArray(answers)) throw errors.SCRIPT_INVALID('`answers` is not a list.')
  for (const [index, answer] of (answers as unknown[]).entries()) {
    const name = `Answer ${index + 1}`
    if (typeof answer !== 'object' || answer === null)
      throw errors.SCRIPT_INVALID(`${name} is ${JSON.stringify(answer)}.`)
    const unknown = Object.keys(answer).find((key) => !Object.hasOwn(KNOWN, key))
    if (unknown !== undefined) throw errors.SCRIPT_INVALID(`${name} has "${unknown}".`)
  }
}

const BODY_BYTES_MAX = 64 * 1024 * 1024

/** Its route at the proxy, such as `gemini`; its name if it has none. */
const providerId = ({ name, address }: Provider): string => address?.route ?? name

/** Reads a whole request. `problem` reports a body that is not a JSON object. */
async function readArrived(
  message: IncomingMessage,
  number: number,
): Promise<Arrived & { readonly problem?: RetakeError }> {
  const { method = 'GET', url: path = '/' } = message
  const headers = Object.fromEntries(
    Object.entries(message.headers)
      .filter(([name]) => !name.startsWith(':'))
      .map(([name, value]) => [name, String(value)]),
  )
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw errors.MODEL_SERVER_BAD_REQUEST(message.url ?? '/')
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString()
  const parsed = text === '' ? {} : parseJson(text)
  const body = isRecord(parsed) ? parsed : undefined
  return {
    number,
    method,
    path,
    headers,
    provider: providerId(clientProvider({ path: path.replace(/\?.*$/, ''), headers })),
    body: body ?? {},
    ...(body === undefined && { problem: errors.MODEL_SERVER_BAD_REQUEST(path) }),
  }
}
