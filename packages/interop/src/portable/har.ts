import { type HeaderPair, originOf, type RunView, type Tape } from '@retake/tape'

/** The HTTP exchanges of a run as an HTTP archive (HAR 1.2). Marks served exchanges. */
export function* harOfRun(tape: Tape, view: RunView, version: string): Generator<string> {
  const head = {
    version: '1.2',
    creator: { name: 'retake', version },
    pages: [],
    comment: `Run ${view.id}, ${view.name}`,
  }
  yield `{"log":${JSON.stringify(head).slice(0, -1)},"entries":[`
  let isFirst = true
  for (const step of view.recordedSteps) {
    const { request, response } = step.exchange() ?? {}
    if (request === undefined) continue
    const origin = originOf(tape, step)
    const took = step.latencyMs ?? 0
    const wait = step.timeToFirstChunkMs ?? took
    const postData = {
      mimeType: headerOf(request.headers, 'content-type') ?? 'application/octet-stream',
      text: request.text ?? Buffer.from(request.body).toString('base64'),
      ...(request.text === undefined && { _encoding: 'base64' }),
    }
    const { text, body } = response ?? {}
    const answer =
      text === undefined
        ? body && { text: Buffer.from(body).toString('base64'), encoding: 'base64' }
        : { text }
    const entry = {
      startedDateTime: new Date(step.startedAt).toISOString(),
      time: took,
      request: {
        method: request.method,
        url: request.url,
        httpVersion: 'HTTP/1.1',
        cookies: [],
        headers: nameValues(request.headers),
        queryString: nameValues(
          URL.canParse(request.url) ? [...new URL(request.url).searchParams] : [],
        ),
        ...(request.body.length > 0 && { postData }),
        headersSize: -1,
        bodySize: request.body.length,
      },
      response: {
        status: response?.status ?? 0,
        statusText: response?.statusText ?? '',
        httpVersion: 'HTTP/1.1',
        cookies: [],
        headers: nameValues(response?.headers ?? []),
        content: {
          size: response?.body.length ?? 0,
          mimeType: headerOf(response?.headers ?? [], 'content-type') ?? '',
          ...answer,
        },
        redirectURL: '',
        headersSize: -1,
        bodySize: response?.body.length ?? -1,
      },
      cache: {},
      timings: { send: 0, wait, receive: Math.max(0, took - wait) },
      _retake: { step: step.label, kind: step.kind, state: step.state, ...(origin && { origin }) },
      ...(origin === 'served' && { comment: 'replayed: served from a tape, not sent' }),
    }
    yield `${isFirst ? '' : ','}\n${JSON.stringify(entry)}`
    isFirst = false
  }
  yield '\n]}}\n'
}

const nameValues = (headers: readonly HeaderPair[]): object[] =>
  headers.map(([name, value]) => ({ name, value }))

const headerOf = (headers: readonly HeaderPair[], wanted: string): string | undefined =>
  headers.find(([name]) => name.toLowerCase() === wanted)?.[1]

/** An imported message, which becomes a request or a response on the tape, not an attribute. */
export interface HarMessage {
  readonly headers: readonly HeaderPair[]
  readonly statusText?: string
  readonly body: { readonly text: string } | { readonly base64: string }
}

/** Attributes of a span that was imported from an archive. */
export const HAR_REQUEST = 'retake.http.request'
export const HAR_RESPONSE = 'retake.http.response'
