import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { EventScript } from '../../test-support/event-script.js'
import { decodeBody } from '../format/event-body.js'
import { TapeError } from '../format/errors.js'
import type { HeaderPair } from '../format/events.js'
import { Http1Scanner } from '../http/http1.js'
import { recordError } from '../format/values/to-wire.js'
import { readRun } from '../read-model/run-view.js'
import type { Step } from '../read-model/step.js'
import { answerPayload, type Payload, requestPayload, wholeResponse } from './answer-payload.js'
import { editedAnswer, type EditedDelivery, type EditOptions } from './edited-answer.js'
import { drawPayload, editedDraw } from './edited-answer.js'
import { setPath } from './set-path.js'

const CHAT = 'http://127.0.0.1:4010/v1/chat/completions'
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (deliveries: readonly EditedDelivery[]): string =>
  deliveries.map(({ body }) => new TextDecoder().decode(body)).join('')
const shape = (deliveries: readonly EditedDelivery[]): string[] =>
  deliveries.map(({ event }) => (event.type === 'deliver' ? event.part : event.type))
const failure = (run: () => unknown): TapeError => {
  try {
    run()
  } catch (error) {
    if (error instanceof TapeError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-5-mini',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'Shipped.' }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
}
const question = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Where?' }] }

const stepOf = (tape: EventScript, number = 1): Step => {
  const step = readRun(tape, { gunzip: gunzipSync }).step(number)
  if (step === undefined) throw new Error('no such step')
  return step
}
/** Sets one value in a step's answer. */
const edit = (
  tape: EventScript,
  path: string,
  value: unknown,
  options?: EditOptions,
): readonly EditedDelivery[] => {
  const step = stepOf(tape)
  const payload = answerPayload(tape, step)
  const edited: Payload = { ...payload, data: setPath(payload.data, path, value) }
  return editedAnswer(tape, step, edited, options).deliveries
}

const fetched = (
  pieces: readonly string[],
  { url = CHAT, body = question, type = 'application/json', status = 200 } = {},
): EventScript => {
  const tape = new EventScript()
  tape.answer(tape.request(url, body), pieces, { type, status })
  return tape.end()
}

describe('an answer through fetch', () => {
  test('of JSON is edited in place', () => {
    const tape = fetched([JSON.stringify(completion)])
    expect(answerPayload(tape, stepOf(tape))).toEqual({ kind: 'json', data: completion })
    expect(requestPayload(tape, stepOf(tape))).toEqual({ kind: 'json', data: question })
    const deliveries = edit(tape, 'choices.0.message.content', 'Lost.')
    expect(shape(deliveries)).toEqual(['response', 'chunk', 'end'])
    expect(JSON.parse(textOf(deliveries))).toEqual(
      setPath(completion, 'choices.0.message.content', 'Lost.'),
    )
    expect(editedAnswer(tape, stepOf(tape), { kind: 'json', data: completion }).op).toBe(1)
  })

  test('keeps its headers except those that describe its bytes', () => {
    const tape = new EventScript()
    const op = tape.request('https://shop.test/orders')
    const headers: HeaderPair[] = [
      ['Content-Length', '13'],
      ['content-encoding', 'gzip'],
      ['content-type', 'application/json'],
      ['x-request-id', 'r1'],
    ]
    tape.add({ type: 'response', op, status: 201, statusText: 'Created', headers, url: 'u' })
    tape.chunk(op, '{"state":"ü"}')
    tape.add({ type: 'deliver', op, part: 'end' })
    const [head, chunk] = edit(tape.end(), 'state', 'lost ☃')
    expect(head?.event).toEqual({
      type: 'response',
      status: 201,
      statusText: 'Created',
      url: 'u',
      headers: [
        ['content-type', 'application/json'],
        ['x-request-id', 'r1'],
        ['Content-Length', String(chunk?.body.length)],
      ],
    })
  })

  test('that is text or binary is edited as such', () => {
    const tape = fetched(['plain ', 'text'], { url: 'https://a.test/', type: 'text/plain' })
    expect(answerPayload(tape, stepOf(tape))).toEqual({
      kind: 'text',
      data: { text: 'plain text' },
    })
    expect(textOf(edit(tape, 'text', 'other'))).toBe('other')
    expect(failure(() => edit(tape, 'text', 1)).code).toBe('EDIT_INVALID_ANSWER')

    const binary = new EventScript()
    const op = binary.request('https://a.test/')
    binary.head(op, { type: 'image/png' })
    binary.chunk(op, Uint8Array.of(255, 254))
    expect(answerPayload(binary, stepOf(binary))).toEqual({
      kind: 'base64',
      data: { base64: '//4=' },
    })
    expect(edit(binary, 'base64', 'AAE=')[1]?.body).toEqual(Uint8Array.of(0, 1))
    expect(failure(() => edit(binary, 'base64', '*')).code).toBe('EDIT_INVALID_ANSWER')
  })

  test('without a body stays without one', () => {
    const tape = new EventScript()
    const op = tape.request('https://a.test/', undefined, 'DELETE')
    tape.add({ type: 'response', op, status: 204, statusText: '', headers: [], empty: true })
    const step = stepOf(tape)
    expect(editedAnswer(tape, step, answerPayload(tape, step)).deliveries).toMatchObject([
      { event: { type: 'response', status: 204, empty: true } },
    ])
    expect(failure(() => edit(tape, 'text', 'x')).why).toContain('has no body')
    expect(shape(edit(tape, 'text', 'x', { status: 200 }))).toEqual(['response', 'chunk', 'end'])
  })

  test('that no decoder knows stays a stream, event by event', () => {
    const stream = 'data: 1\n\ndata: 2\n\n'
    const tape = fetched([stream], { url: 'https://a.test/', type: 'text/event-stream' })
    expect(answerPayload(tape, stepOf(tape)).data).toEqual({ text: stream })
    const deliveries = edit(tape, 'text', 'data: 3\n\ndata: 4\n\n')
    expect(shape(deliveries)).toEqual(['response', 'chunk', 'chunk', 'end'])
    expect(textOf(deliveries)).toBe('data: 3\n\ndata: 4\n\n')
  })
})

describe('a streamed answer of a model', () => {
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    `data: ${JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'gpt-5-mini',
      choices: [{ index: 0, delta, finish_reason }],
    })}\n\n`
  const stream = [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'Ship' }),
    chunk({ content: 'ped.' }),
    chunk({}, 'stop'),
    'data: [DONE]\n\n',
  ]
  const streamed = (): EventScript => fetched(stream, { type: 'text/event-stream; charset=utf-8' })

  test('is edited whole and streamed again', () => {
    const tape = streamed()
    const { usage: _, ...without } = completion
    expect(answerPayload(tape, stepOf(tape))).toEqual({ kind: 'json', data: without })
    const deliveries = edit(tape, 'choices.0.message.content', 'It was lost.')
    expect(shape(deliveries).length).toBeGreaterThan(5)
    const again = fetched([textOf(deliveries)], { type: 'text/event-stream' })
    expect(answerPayload(again, stepOf(again)).data).toEqual(
      setPath(without, 'choices.0.message.content', 'It was lost.'),
    )
    expect(textOf(deliveries)).toMatch(/data: \[DONE\]\n\n$/)
  })

  test('can replace an error, as the requested stream', () => {
    const tape = fetched(['{"error":{"message":"Slow down"}}'], {
      body: { ...question, stream: true } as typeof question,
      status: 429,
    })
    const step = stepOf(tape)
    const payload = wholeResponse(step, bytes(JSON.stringify(completion)))
    const { deliveries } = editedAnswer(tape, step, payload, { status: 200 })
    expect(deliveries[0]?.event).toMatchObject({
      status: 200,
      statusText: 'OK',
      headers: [['content-type', 'text/event-stream']],
    })
    expect(textOf(deliveries)).toMatch(/data: \[DONE\]\n\n$/)
  })

  test('can become an error, which is JSON', () => {
    const error = { error: { message: 'Slow down' } }
    const tape = streamed()
    const { deliveries } = editedAnswer(
      tape,
      stepOf(tape),
      { kind: 'json', data: error },
      {
        status: 429,
      },
    )
    expect(deliveries[0]?.event).toMatchObject({ headers: [['content-type', 'application/json']] })
    expect(JSON.parse(textOf(deliveries))).toEqual(error)
  })
})

describe('an answer on a socket', () => {
  const onSocket = (response: Uint8Array): { tape: EventScript; socket: number } => {
    const tape = new EventScript()
    const socket = tape.add({ type: 'socket', kind: 'tcp', host: '127.0.0.1', port: 4010 })
    tape.add(
      { type: 'request', seam: 'http', method: 'POST', url: CHAT, headers: [], socket },
      JSON.stringify(question),
    )
    const event = { type: 'deliver', op: socket, part: 'chunk', written: 1, digest: 'd' } as const
    tape.add(event, response)
    return { tape: tape.end(), socket }
  }
  const scan = (deliveries: readonly EditedDelivery[]) => {
    const scanner = new Http1Scanner('response')
    scanner.expect('POST')
    return deliveries.flatMap(({ body }) => scanner.push(new Uint8Array(body)))
  }

  test('is HTTP/1.1 again, of the right length and not compressed', () => {
    const packed = gzipSync(JSON.stringify(completion))
    const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\nX-Id: 7\r\n\r\n`
    const { tape, socket } = onSocket(Buffer.concat([bytes(head), packed]))
    const step = stepOf(tape)
    const data = setPath(answerPayload(tape, step).data, 'choices.0.message.content', 'Lost ☃')
    const { op, deliveries } = editedAnswer(tape, step, { kind: 'json', data })
    expect(op).toBe(socket)
    expect(deliveries.map(({ event }) => event)).toEqual([
      { type: 'deliver', part: 'chunk', written: 1, digest: 'd' },
    ])
    const [message] = scan(deliveries)
    expect(message).toMatchObject({ status: 200, statusText: 'OK', complete: true })
    expect(message?.headers).toEqual([
      ['Content-Type', 'application/json'],
      ['X-Id', '7'],
      ['Content-Length', String(message?.body.length)],
    ])
    expect(JSON.parse(new TextDecoder().decode(message?.body))).toEqual(data)
  })

  test('that came in chunks comes in chunks', () => {
    const text = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }] })}\n\n`
    const head =
      'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'
    const { tape } = onSocket(bytes(`${head}${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`))
    const deliveries = edit(tape, 'choices.0.message.content', 'Good bye, you')
    expect(deliveries.length).toBeGreaterThan(4)
    const [message] = scan(deliveries)
    expect(message).toMatchObject({ complete: true })
    expect(new TextDecoder().decode(message?.body)).toContain('[DONE]')
  })

  test('with unknown compression can be replaced but not edited', () => {
    const { tape } = onSocket(
      bytes('HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: 4\r\n\r\nabcd'),
    )
    const step = stepOf(tape)
    expect(failure(() => answerPayload(tape, step)).code).toBe('EDIT_UNREADABLE')
    const [message] = scan(
      editedAnswer(tape, step, wholeResponse(step, bytes(JSON.stringify(completion)))).deliveries,
    )
    expect(JSON.parse(new TextDecoder().decode(message?.body))).toEqual(completion)
  })
})

test('an answer over HTTP/2 ends and closes', () => {
  const tape = new EventScript()
  const op = tape.add({ type: 'request', seam: 'http2', method: 'GET', url: 'u', headers: [] })
  tape.answer(op, ['{"a":1}'])
  const deliveries = edit(tape.end(), 'a', 2)
  expect(shape(deliveries)).toEqual(['response', 'chunk', 'end', 'close'])
  expect(deliveries.at(-1)?.event).toMatchObject({ value: 0 })
})

describe('a tool', () => {
  const withResult = (value: unknown): EventScript => {
    const tape = new EventScript()
    tape.result(tape.tool('lookup', { id: '1182' }), value)
    return tape.end()
  }
  const resultOf = ([delivery]: readonly EditedDelivery[]): unknown =>
    delivery?.event.type === 'result' && delivery.event.as !== undefined
      ? decodeBody(delivery.event.as, delivery.body)
      : undefined

  test('gives another result', () => {
    const tape = withResult({ state: 'shipped', items: [1, 2] })
    expect(requestPayload(tape, stepOf(tape)).data).toEqual({ id: '1182' })
    expect(resultOf(edit(tape, 'items.-1', 3))).toEqual({ state: 'shipped', items: [1, 3] })
    const step = stepOf(tape)
    expect(resultOf(editedAnswer(tape, step, { kind: 'result', data: 'text' }).deliveries)).toBe(
      'text',
    )
  })

  test('keeps values that JSON cannot represent', () => {
    const value = { when: new Date(5), bytes: Buffer.from('x'), big: 12n, left: undefined }
    const edited = resultOf(edit(withResult({ ...value, n: 1 }), 'n', 2))
    expect(edited).toEqual({ ...value, n: 2 })
    expect(failure(() => edit(withResult({ a: 1 }), 'a', { $: 'Nothing' })).code).toBe(
      'EDIT_INVALID_ANSWER',
    )
  })

  test('that failed can fail differently or return a result', () => {
    const tape = new EventScript()
    const op = tape.tool('lookup', {})
    tape.add({ type: 'result', op, error: recordError(new RangeError('no such order')) })
    const step = stepOf(tape)
    const [delivery] = edit(tape, 'message', 'gone')
    expect(delivery?.event).toMatchObject({ error: { class: 'RangeError', message: 'gone' } })
    const whole = wholeResponse(step, bytes('{"state":"found"}'))
    expect(resultOf(editedAnswer(tape, step, whole).deliveries)).toEqual({ state: 'found' })
  })

  test('can be made to fail', () => {
    const tape = withResult(1)
    const payload: Payload = { kind: 'error', data: { message: 'no' } }
    expect(editedAnswer(tape, stepOf(tape), payload).deliveries[0]?.event).toEqual({
      type: 'result',
      error: { class: 'Error', name: 'Error', message: 'no' },
    })
  })
})

describe('invalid edits are refused', () => {
  test('a step that was never answered, which can still be given a whole answer', () => {
    const tape = new EventScript()
    tape.request(CHAT, question)
    const step = stepOf(tape)
    expect(failure(() => answerPayload(tape, step)).code).toBe('EDIT_NO_ANSWER')
    const whole = wholeResponse(step, bytes(JSON.stringify(completion)))
    const { deliveries } = editedAnswer(tape, step, whole)
    expect(deliveries[0]?.event).toMatchObject({
      status: 200,
      headers: [['content-type', 'application/json']],
    })
    expect(JSON.parse(textOf(deliveries))).toEqual(completion)
  })

  test('a mark', () => {
    const tape = new EventScript()
    tape.add({ type: 'note', kind: 'mark', name: 'here' })
    const step = stepOf(tape)
    expect(failure(() => answerPayload(tape, step)).code).toBe('EDIT_NO_ANSWER')
    expect(failure(() => requestPayload(tape, step)).code).toBe('EDIT_NO_ANSWER')
    expect(failure(() => editedAnswer(tape, step, { kind: 'result', data: 1 })).code).toBe(
      'EDIT_NO_ANSWER',
    )
  })

  test('a file that is not JSON in place of a JSON answer', () => {
    const tape = fetched([JSON.stringify(completion)])
    expect(failure(() => wholeResponse(stepOf(tape), bytes('Hello'))).code).toBe('EDIT_NOT_JSON')
  })

  test('an answer that the provider never gives, unless forced', () => {
    const tape = fetched([JSON.stringify(completion)])
    const wrong = failure(() => edit(tape, 'choices.0.finish_reason', 'because'))
    expect(wrong.code).toBe('EDIT_INVALID_ANSWER')
    expect(wrong.why).toContain('choices.0.finish_reason is "because"; it can be "stop"')
    const forced = edit(tape, 'choices.0.finish_reason', 'because', { force: true })
    expect(textOf(forced)).toContain('"because"')
  })

  test('but problems of the recorded answer are accepted', () => {
    const odd = setPath(completion, 'choices.0.finish_reason', 'eos')
    const tape = fetched([JSON.stringify(odd)])
    expect(textOf(edit(tape, 'choices.0.message.content', 'x'))).toContain('"eos"')
    expect(failure(() => edit(tape, 'usage.prompt_tokens', -1)).why).toBe(
      'usage.prompt_tokens is -1, which is not a count.',
    )
  })
})

describe('a draw', () => {
  const tape = new EventScript()
  const now = tape.add({ type: 'draw', kind: 'Date.now', value: 1 })
  const random = tape.add({ type: 'draw', kind: 'Math.random', value: 0.5 })
  const drawn = tape.add({ type: 'draw', kind: 'crypto.randomBytes 2', value: 'AAE=' })

  test('gives another value of the same kind', () => {
    expect(drawPayload(tape, now)).toEqual({ kind: 'value', data: 1 })
    expect(editedDraw(tape, now, { kind: 'value', data: 2 })).toEqual({
      type: 'draw',
      kind: 'Date.now',
      value: 2,
    })
    expect(editedDraw(tape, drawn, { kind: 'value', data: '//8=' }).value).toBe('//8=')
  })

  test.each([
    [now, 'soon'],
    [random, 1],
    [drawn, 'AA=='],
    [drawn, '*'],
  ])('of event %i does not give %j', (seq, data) => {
    expect(failure(() => editedDraw(tape, seq, { kind: 'value', data })).code).toBe(
      'EDIT_INVALID_ANSWER',
    )
    expect(editedDraw(tape, seq, { kind: 'value', data }, { force: true }).value).toBe(data)
  })

  test('must be one', () => {
    expect(failure(() => drawPayload(tape, 0)).code).toBe('EDIT_NO_ANSWER')
    expect(failure(() => drawPayload(tape, 99)).code).toBe('TAPE_NO_SUCH_EVENT')
  })
})
