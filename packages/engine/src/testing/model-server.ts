import { jsonAnswer, makeReply, PROVIDERS, scriptedAt } from '@retake/tape'
import type { Provider, ScriptedError, ScriptedFormat } from '@retake/tape'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { errors, RetakeError } from '../errors.js'
import { providerId, readArrived } from './arrived.js'
import { checkScript } from './check-script.js'
import { readModelRequest } from './model-request.js'
import type { Arrived, ModelRequest } from './model-request.js'
import { listenOnOnePort } from './one-port.js'
import { Script } from './script.js'
import type { ScriptedAnswer } from './scripted-answer.js'
import { sendAnswer } from './send-answer.js'
import { serverVariables } from './server-variables.js'

export interface ModelServerOptions {
  /**
   * Answers in order, over all requests that ask a model; see
   * `ScriptedAnswer.when` for agents that ask at the same time. After the last
   * one, status 500 says that the script is over.
   */
  readonly answers?: readonly ScriptedAnswer[]
  /** Decides for each request instead; wins over `answers`. */
  readonly answer?: (request: ModelRequest) => ScriptedAnswer | Promise<ScriptedAnswer>
  /** Any that is free, unless said. */
  readonly port?: number
}

export interface ModelServer {
  /** `http://127.0.0.1:<port>`: HTTP/1.1, and HTTP/2 with prior knowledge. */
  readonly url: string
  readonly port: number
  /** What asked a model, embeddings included, in the order of arrival. */
  readonly requests: readonly ModelRequest[]
  /** Answers of the script that nobody has asked for yet. */
  readonly unused: readonly ScriptedAnswer[]
  /** Variables that lead the SDK of every known provider here, with made-up keys. */
  readonly env: Readonly<Record<string, string>>
  /** Cuts every connection. */
  stop(): Promise<void>
}

/**
 * Starts a scripted model on the loopback that speaks the wire formats of all
 * known providers, told apart by path. Ids and times in its answers follow from
 * the number of the request, so a script gives the same bytes each time. It
 * does not check what it is sent: no key, no schema, no limit of a context.
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
    const request = readModelRequest(numbered, format.format)
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
    // Clients may go away at any time.
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

/** The dialect of the provider that a client means to reach. */
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

/** An error of ours has its status; one of the user's `answer` function is a 500 with its message. */
function failureOf(error: unknown): { status: number; message: string; code?: string } {
  if (!(error instanceof RetakeError)) return { status: 500, message: String(error) }
  const status = { MODEL_SERVER_NO_ENDPOINT: 404, MODEL_SERVER_BAD_REQUEST: 400 }[error.code] ?? 500
  return { status, message: error.message }
}
