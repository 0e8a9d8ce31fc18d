import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { bedrockEvent } from '../../test-support/event-frame.js'
import { EventScript } from '../../test-support/event-script.js'
import { readRun } from './run-view.js'
import type { Step } from './step.js'

interface Recorded {
  readonly url: string
  readonly request: object
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: readonly string[]
  readonly frames?: readonly (readonly [string, unknown])[]
}

const folder = new URL('../../../../test/golden/providers/', import.meta.url)
const recordings = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .toSorted()
  .map((file): [string, Recorded] => [
    file.replace('.json', ''),
    JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Recorded,
  ])

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const piecesOf = ({ body, frames }: Recorded): Uint8Array[] =>
  body?.map(encode) ?? (frames ?? []).map(([event, value]) => bedrockEvent(event, value))

/** The same bytes, cut every `size` bytes, even inside events and characters. */
function recut(pieces: readonly Uint8Array[], size: number): Uint8Array[] {
  const bytes = Uint8Array.from(pieces.flatMap((piece) => [...piece]))
  const count = Math.ceil(bytes.length / size)
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )
}

const modelStep = (tape: EventScript): Step => {
  const [step] = readRun(tape.end()).recordedSteps
  if (step === undefined) throw new Error('no step')
  return step
}

function onFetch(recorded: Recorded, pieces: readonly Uint8Array[]): Step {
  const tape = new EventScript()
  const op = tape.request(recorded.url, recorded.request)
  const { status = 200, headers } = recorded
  tape.add({ type: 'response', op, status, statusText: '', headers: Object.entries(headers) })
  for (const piece of pieces) tape.wait(10).chunk(op, piece)
  tape.add({ type: 'deliver', op, part: 'end' })
  return modelStep(tape)
}

function onSocket(recorded: Recorded, pieces: readonly Uint8Array[]): Step {
  const tape = new EventScript()
  const socket = tape.add({ type: 'socket', kind: 'tls', host: 'x', port: 443 })
  tape.add(
    { type: 'request', seam: 'http', method: 'POST', url: recorded.url, headers: [], socket },
    JSON.stringify(recorded.request),
  )
  const { status = 200, headers } = recorded
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} OK\r\n${lines.join('')}transfer-encoding: chunked\r\n\r\n`
  tape.chunk(socket, head)
  for (const piece of pieces) {
    const framed = [encode(`${piece.length.toString(16)}\r\n`), piece, encode('\r\n')]
    tape.wait(10).chunk(socket, Uint8Array.from(framed.flatMap((part) => [...part])))
  }
  tape.chunk(socket, '0\r\n\r\n')
  return modelStep(tape)
}

describe('a streamed answer as it grew', () => {
  test.each(recordings)('ends with the answer itself: %s', (_name, recorded) => {
    const small = recut(piecesOf(recorded), 61)
    for (const step of [
      onFetch(recorded, piecesOf(recorded)),
      onFetch(recorded, small),
      onSocket(recorded, small),
    ]) {
      const { answer } = step.exchange() ?? {}
      const frames = step.answerFrames()
      expect(frames.at(-1)?.answer ?? []).toEqual(answer)
      expect(step.answerFrames({ framesMax: 3 }).at(-1)?.answer ?? []).toEqual(answer)
      const times = frames.map(({ at }) => at)
      expect(times).toEqual(times.toSorted((left, right) => left - right))
      expect(frames.length).toBeLessThanOrEqual(150)
    }
  })

  test('grows at the times its pieces came', () => {
    const tape = new EventScript()
    const op = tape.request('https://api.openai.com/v1/chat/completions', { messages: [] })
    tape.head(op, { type: 'text/event-stream' })
    for (const content of ['Or', 'der ', '1182'])
      tape
        .wait(100)
        .chunk(op, `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`)
    tape.wait(50).chunk(op, 'data: [DONE]\n\n')
    const frames = modelStep(tape).answerFrames()
    expect(frames.map(({ at, answer }) => [at, answer[0]?.parts])).toEqual([
      [103, [{ type: 'text', text: 'Or' }]],
      [204, [{ type: 'text', text: 'Order ' }]],
      [305, [{ type: 'text', text: 'Order 1182' }]],
    ])
  })

  test('has fewer frames where decoding each from the start would take long', () => {
    const tape = new EventScript()
    const op = tape.request('https://api.openai.com/v1/chat/completions', { messages: [] })
    tape.head(op, { type: 'text/event-stream' })
    for (let count = 0; count < 400; count++)
      tape.chunk(op, `data: ${JSON.stringify({ choices: [{ delta: { content: 'word ' } }] })}\n\n`)
    const step = modelStep(tape)
    expect(step.answerFrames()).toHaveLength(150)
    expect(step.answerFrames({ bytesMax: 100_000 }).length).toBeLessThan(12)
    expect(step.answerFrames({ bytesMax: 1 })).toHaveLength(2)
  })
})
