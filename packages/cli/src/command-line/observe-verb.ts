import { Deadline } from '@retake/tape/format'
import { randomBytes } from 'node:crypto'
import { FOUND } from '@retake/runner/command-line'
import type { Span } from '@retake/interop/portable'

/** Commands that run an agent. Only these become spans. */
const TRACED = new Set(['record', 'replay', 'fork', 'rerun', 'resume', 'blame', 'fix'])
/** A receiver that is down must not delay the command. */
const SEND_MS = 3000

/**
 * Runs a command and reports it: with `RETAKE_LOG=json` as lines of JSON on stderr, with
 * `RETAKE_OTEL=1` as a span to `OTEL_EXPORTER_OTLP_ENDPOINT`, with the headers of
 * `OTEL_EXPORTER_OTLP_HEADERS`. Never includes the arguments of the command, which may be private.
 */
export async function observeVerb(verb: string, run: () => Promise<number>): Promise<number> {
  const { env } = process
  const isLogged = env['RETAKE_LOG'] === 'json'
  const endpoint = env['RETAKE_OTEL'] === '1' ? env['OTEL_EXPORTER_OTLP_ENDPOINT'] : undefined
  const isTraced = endpoint !== undefined && endpoint !== '' && TRACED.has(verb)
  if (!isLogged && !isTraced) return run()
  const startedAt = Date.now()
  const from = performance.now()
  const log = (event: string, more: object = {}): void => {
    const line = { time: new Date().toISOString(), level: 'info', event, verb, pid: process.pid }
    if (isLogged) process.stderr.write(`${JSON.stringify({ ...line, ...more })}\n`)
  }
  log('start')
  const exitCode = await run()
  const durationMs = Math.round((performance.now() - from) * 1000) / 1000
  log('end', { exitCode, durationMs })
  if (isTraced)
    await sendVerbSpan({ verb, startedAt, durationMs, exitCode, endpoint }).catch(
      (error: unknown) => log('span not sent', { level: 'warn', why: String(error) }),
    )
  return exitCode
}

async function sendVerbSpan(done: {
  readonly verb: string
  readonly startedAt: number
  readonly durationMs: number
  readonly exitCode: number
  readonly endpoint: string
}): Promise<void> {
  const { sendSpans, tracesUrl } = await import('@retake/interop/portable')
  const { nanosOf } = await import('@retake/interop/portable')
  const { version } = await import('@retake/runner/package-root')
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
  await sendSpans([span], tracesUrl(endpoint), {
    encoding: 'protobuf',
    headers: headersOf(process.env['OTEL_EXPORTER_OTLP_HEADERS'] ?? ''),
    timeoutMs: SEND_MS,
    signal: deadline.signal,
  })
}

/** Pairs like `name=value`, separated by commas, with encoded values. */
const headersOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split(',').flatMap((pair) => {
      const at = pair.indexOf('=')
      return at < 1
        ? []
        : [[pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())]]
    }),
  )
