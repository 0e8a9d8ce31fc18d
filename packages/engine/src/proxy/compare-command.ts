import type { Tape } from '@retake/tape/format'
import { bodyMismatches } from '../kernel/compare.js'
import { type ProxyDivergenceFacts, requestName } from '../texts/proxy-divergence.js'
import { type Divergence, withText } from '../texts/divergence-text.js'
import type { TapedExchange } from './taped-exchanges.js'

export interface ProxiedCommandEnd {
  /** Everything that it wrote to stdout, with secrets masked. */
  readonly stdout: Uint8Array
  readonly exitCode?: number
  readonly signal?: string
  /** Its requests that are not on the tape. */
  readonly misses: readonly Divergence[]
  /** Recorded exchanges that it did not request. */
  readonly unused: readonly TapedExchange[]
}

/**
 * Compares a replayed command with its tape: requests, stdout and exit. Ignores stderr, where
 * programs log dates and times. A command whose recording was cut off does everything recorded and
 * then more, which is not compared.
 */
export function compareCommand(tape: Tape, end: ProxiedCommandEnd): Divergence[] {
  const isCutOff = tape.status === 'truncated'
  const isBeyondEnd = isCutOff && end.unused.length === 0
  const missing = end.unused.map(({ request }): ProxyDivergenceFacts => ({
    seq: request.seq,
    kind: 'missing',
    code: 'request-missing',
    request: requestName(request),
    recorded: request,
    mismatches: [],
  }))
  return [
    ...(isBeyondEnd ? [] : end.misses),
    ...[...missing, ...output(tape, end.stdout, isCutOff), ...exit(tape, end)].map(withText),
  ]
}

function output(tape: Tape, stdout: Uint8Array, isCutOff: boolean): ProxyDivergenceFacts[] {
  const pieces: { seq: number; bytes: Uint8Array }[] = []
  for (const event of tape.events()) {
    if (event.type === 'output' && event.stream === 'stdout')
      pieces.push({ seq: event.seq, bytes: tape.body(event.seq) })
  }
  const recorded = Buffer.concat(pieces.map(({ bytes }) => bytes))
  const current = Buffer.from(stdout)
  if (recorded.equals(isCutOff ? current.subarray(0, recorded.length) : current)) return []
  let at = 0
  while (at < recorded.length && recorded[at] === current[at]) at += 1
  let passed = 0
  const piece = pieces.find(({ bytes }) => (passed += bytes.length) > at) ?? pieces.at(-1)
  return [
    {
      seq: piece?.seq ?? 0,
      kind: 'output',
      code: 'stdout-differs',
      at,
      sizes: [recorded.length, current.length],
      mismatches: bodyMismatches(recorded, current).slice(0, 5),
    },
  ]
}

function exit(tape: Tape, { exitCode, signal }: ProxiedCommandEnd): ProxyDivergenceFacts[] {
  for (let seq = tape.count - 1; seq > 0; seq--) {
    const event = tape.event(seq)
    if (event.type !== 'end') continue
    const recorded = event.signal ?? event.exitCode
    const current = signal ?? exitCode
    if (recorded === current) return []
    const field = 'exit'
    return [
      {
        seq,
        kind: 'result',
        code: 'exit-differs',
        exits: [recorded, current],
        mismatches: [{ field, recorded, current }],
      },
    ]
  }
  return []
}
