import { Deadline } from '@retake/tape/format'
import { setTimeout as sleep } from 'node:timers/promises'
import { reason } from '@retake/engine/errors'
import { cliErrors } from '@retake/runner/errors'
import { encodeSpans, type OtlpEncoding } from './otlp-encode.js'
import type { Span } from './span.js'
import { retryAfterMs } from '@retake/tape'

export interface SendOptions {
  readonly encoding: OtlpEncoding
  readonly headers: Readonly<Record<string, string>>
  /** How long to retry a batch, including pauses. */
  readonly timeoutMs: number
  readonly onRetry?: (why: string) => void
  readonly signal?: AbortSignal
}

/** Limits of one request. Receivers may refuse requests above 4 MB. */
const BATCH_SPANS = 512
const BATCH_BYTES = 3 << 20
const REQUEST_MS = 15_000
/** Pauses grow from the first to the last. */
const PAUSE_MS = { first: 500, last: 10_000 }
/** Statuses for which OTLP demands a retry. */
const RETRIED = new Set([429, 502, 503, 504])

/** The traces URL of a receiver: `/v1/traces` unless the URL has a path. */
export function tracesUrl(endpoint: string): URL {
  const url = new URL(endpoint)
  if (url.pathname === '/') url.pathname = '/v1/traces'
  return url
}

/**
 * Sends spans batch by batch and waits for each, so that memory is bounded and the receiver sets
 * the pace. Retries if the receiver is down or busy. Throws `EXPORT_FAILED` with the number of
 * accepted spans; the tape still has all of them.
 */
export async function sendSpans(spans: Iterable<Span>, url: URL, options: SendOptions) {
  let sent = 0
  /** Spans that the receiver rejected while it accepted the rest. */
  let rejected = 0
  let message: string | undefined
  for (const batch of batchesOf(spans)) {
    const body = await encodeSpans(batch, options.encoding)
    try {
      const partial = await sendBatch(body, url, options)
      sent += batch.length - partial.rejected
      rejected += partial.rejected
      message ??= partial.message
    } catch (error) {
      throw cliErrors.EXPORT_FAILED(`${url.origin}${url.pathname}`, sent, reason(error))
    }
  }
  return { sent, rejected, ...(message !== undefined && { message }) }
}

function* batchesOf(spans: Iterable<Span>): Generator<Span[]> {
  let batch: Span[] = []
  let size = 0
  for (const span of spans) {
    let bytes = 200 + span.events.length * 200
    for (const [key, value] of Object.entries(span.attributes))
      bytes += key.length + (typeof value === 'string' ? value.length : 16)
    if (batch.length === BATCH_SPANS || (batch.length > 0 && size + bytes > BATCH_BYTES)) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(span)
    size += bytes
  }
  if (batch.length > 0) yield batch
}

interface PartialSuccess {
  readonly rejected: number
  readonly message?: string
}

async function sendBatch(
  body: Uint8Array,
  url: URL,
  options: SendOptions,
): Promise<PartialSuccess> {
  const until = performance.now() + options.timeoutMs
  for (let pause = PAUSE_MS.first; ; pause = Math.min(PAUSE_MS.last, pause * 2)) {
    const timeoutMs = Math.ceil(Math.min(REQUEST_MS, Math.max(1, until - performance.now())))
    const tried = await tryOnce(body, url, { ...options, timeoutMs })
    if ('rejected' in tried) return tried
    // With jitter, so that several exporters do not retry at the same moment.
    const wait = tried.retryAfterMs ?? pause * (0.75 + Math.random() / 2)
    if (!tried.isTemporary || performance.now() + wait > until) throw new Error(tried.why)
    options.onRetry?.(tried.why)
    await sleep(wait, undefined, options.signal && { signal: options.signal })
  }
}

async function tryOnce(
  body: Uint8Array,
  url: URL,
  { encoding, headers, signal, timeoutMs }: SendOptions,
): Promise<PartialSuccess | { why: string; isTemporary: boolean; retryAfterMs?: number }> {
  const type = encoding === 'json' ? 'application/json' : 'application/x-protobuf'
  try {
    using deadline = new Deadline({ ms: timeoutMs, signals: [signal] })
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': type, ...headers },
      body: Buffer.from(body),
      redirect: 'error',
      signal: deadline.signal,
    })
    const answer = Buffer.from(await response.arrayBuffer())
    const answerType = response.headers.get('content-type') ?? ''
    if (response.ok) return await partialSuccess(answer, answerType)
    const waitMs = retryAfterMs(response.headers, Date.now()) ?? 0
    const start = /json|text/.test(answerType) ? answer.toString('utf8', 0, 300) : ''
    const said = start.replaceAll(/\s+/g, ' ').trim()
    return {
      why: `The receiver answered ${response.status}${said === '' ? '' : `: ${said}`}`,
      isTemporary: RETRIED.has(response.status),
      ...(waitMs > 0 && { retryAfterMs: waitMs }),
    }
  } catch (error) {
    if (signal?.aborted === true) throw error
    const { cause, name } = error as { readonly cause?: unknown; readonly name?: string }
    if (name === 'TimeoutError')
      return { why: `No answer within ${Math.round(timeoutMs / 1000)} s`, isTemporary: true }
    return { why: reason(cause ?? error), isTemporary: true }
  }
}

async function partialSuccess(answer: Buffer, type: string): Promise<PartialSuccess> {
  if (answer.length === 0) return { rejected: 0 }
  const { JsonTraceSerializer, ProtobufTraceSerializer } = await import('./otlp-serializers.js')
  const serializer = type.includes('json') ? JsonTraceSerializer : ProtobufTraceSerializer
  try {
    const { partialSuccess: partial } = serializer.deserializeResponse(answer)
    const message = partial?.errorMessage
    return { rejected: partial?.rejectedSpans ?? 0, ...(message && { message }) }
  } catch {
    // The response does not mention single spans.
    return { rejected: 0 }
  }
}
