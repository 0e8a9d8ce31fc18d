import { randomBytes } from 'node:crypto'
import { type EndedVerb, FOUND } from '@retake/runner/command-line'
import { version } from '@retake/runner/package-root'
import { Deadline } from '@retake/tape/format'
import { sendSpans, tracesUrl } from './send-spans.js'
import { nanosOf, type Span } from './span.js'

/** A receiver that is down must not delay the command. */
const SEND_MS = 3000

/** Sends a span about a command. Never includes its arguments, which may be private. */
export async function sendVerbSpan(done: EndedVerb): Promise<void> {
  const { verb, startedAt, durationMs, exitCode, endpoint } = done
  // A search that finds the cause of a failure has succeeded.
  const isSuccess = exitCode === 0 || (verb === 'blame' && exitCode === FOUND)
  const span: Span = {
    traceId: randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    name: `retake ${verb}`,
    kind: 'internal',
    start: nanosOf(startedAt),
    end: nanosOf(startedAt, durationMs),
    attributes: { 'retake.verb': verb, 'process.exit.code': exitCode },
    events: [],
    links: [],
    status: isSuccess ? { code: 0 } : { code: 2, message: `exit code ${exitCode}` },
    resource: { attributes: { 'service.name': 'retake', 'service.version': version() } },
    scope: { name: 'retake.cli', version: version() },
  }
  using deadline = new Deadline({ ms: SEND_MS })
  // Pairs like `name=value`, separated by commas, with encoded values.
  await sendSpans([span], tracesUrl(endpoint), {
    encoding: 'protobuf',
    headers: Object.fromEntries(
      (process.env['OTEL_EXPORTER_OTLP_HEADERS'] ?? '').split(',').flatMap((pair) => {
        const at = pair.indexOf('=')
        return at < 1
          ? []
          : [[pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())]]
      }),
    ),
    timeoutMs: SEND_MS,
    signal: deadline.signal,
  })
}
