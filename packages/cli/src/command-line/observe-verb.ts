import { offers } from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'

/** Commands that run an agent. Only these become spans. */
const TRACED = new Set(['record', 'replay', 'fork', 'rerun', 'resume', 'blame', 'fix'])

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
    try {
      const send = await offers.sendVerbSpan?.()
      if (send === undefined) throw cliErrors.CAPABILITY_MISSING('A span', ['@retake/interop'])
      await send({ verb, startedAt, durationMs, exitCode, endpoint })
    } catch (error) {
      log('span not sent', { level: 'warn', why: String(error) })
    }
  return exitCode
}
