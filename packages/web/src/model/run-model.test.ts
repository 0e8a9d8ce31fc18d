import { rowAt } from '@retake/tape/present'
import { describe, expect, test } from 'vitest'
import { CHAT, delta, RunScript } from '../../test-support/run-script.js'
import { encodeBody, messageText } from '@retake/tape'

describe('files', () => {
  test('show what was done, whether it worked and its cost', () => {
    const run = new RunScript()
    run.file('fs.readFile', '/a.txt', { bytes: Uint8Array.of(1, 2, 3) })
    run.tool('look', {}, 1)
    run.file('fs.promises.readdir', 'file:///my%20folder')
    run.file('fs.statSync', '/b.txt', { code: 'ENOENT' })
    run.add(
      { type: 'call', kind: 'file', name: 'fs.writeFile', title: '/c [1].txt ["utf8"]' },
      'hi',
    )
    run.file('fs.unlink', '/d.txt')
    const touches = run.model().files()
    expect(
      touches.map(({ access, path, ok, bytes, step }) => [access, path, ok, bytes, step]),
    ).toEqual([
      ['read', '/a.txt', true, 3, undefined],
      ['list', '/my folder', true, undefined, '1'],
      ['look', '/b.txt', false, undefined, '1'],
      ['write', '/c [1].txt', true, 2, '1'],
      ['remove', '/d.txt', true, undefined, '1'],
    ])
    expect(touches[2]?.error).toBe('ENOENT')
  })
})

describe('the console', () => {
  test('puts a character together that was written in two parts, for each stream', () => {
    const run = new RunScript()
    const [first, second] = [Uint8Array.of(0xe2, 0x82), Uint8Array.of(0xac, 0x0a)]
    run.output(first)
    run.output('oh\n', 'stderr')
    run.output(second)
    run.output(Uint8Array.of(0xff))
    const parts = run.model().console()
    expect(parts.map(({ stream, text, isLossy }) => [stream, text, isLossy])).toEqual([
      ['stdout', '', undefined],
      ['stderr', 'oh\n', undefined],
      ['stdout', '€\n', undefined],
      ['stdout', '\uFFFD', true],
    ])
  })

  test('is cut where it is too long, and says so', () => {
    const run = new RunScript()
    for (let count = 0; count < 140; count++) run.output('x'.repeat(40_000))
    const parts = run.model().console()
    expect(parts[0]).toMatchObject({ clipped: true })
    expect(parts[0]?.text).toHaveLength(32_768)
    const last = parts.at(-1)
    expect(last).toMatchObject({ text: '', clipped: true })
    expect((last?.leftOut ?? 0) + parts.length - 1).toBe(140)
  })
})

describe('events', () => {
  test('are described in words', () => {
    const run = new RunScript()
    const request = run.request(CHAT, 'x'.repeat(1500))
    run.answer(request, ['y'.repeat(312)])
    run.add({ type: 'draw', kind: 'Date.now', value: 1_790_000_000_001 })
    run.add({ type: 'timer', kind: 'timeout', ms: 200 })
    run.output('Hello\nthere')
    run.file('fs.readFile', '/a.txt', { code: 'ENOENT' })
    run.add({ type: 'socket', kind: 'tls', host: 'api.example.com', port: 443 })
    const { as, body } = encodeBody({ a: 1 })
    const call = run.add({ type: 'call', kind: 'process', name: 'spawn', title: 'ls -l', as }, body)
    run.add({ type: 'write', op: call }, 'in')
    run.add({ type: 'deliver', op: call, part: 'exit', value: [1, null] })
    const rows = run.model().events(1, 100)
    expect(rows.map(({ type, text }) => `${type} ${text}`)).toEqual([
      'request POST api.openai.com/v1/chat/completions · 1.5 KB',
      'response 200 OK of 1',
      'deliver chunk, 312 B, for event 1',
      'deliver end of 1',
      'draw Date.now 1790000000001',
      'timer timeout 200 ms',
      'output stdout "Hello\\nthere"',
      'call fs.readFile /a.txt',
      'result Error: no (ENOENT) · of 8',
      'socket tls api.example.com:443',
      'call spawn ls -l',
      'write 2 B to 11',
      'deliver exit of 11 · [1,null]',
      'end exit code 0',
      'seal 15 events',
    ])
  })

  test('are complete, with clipped bodies', () => {
    const run = new RunScript()
    run.output('x'.repeat(100_000))
    const model = run.model()
    expect(model.event(1)).toMatchObject({
      type: 'output',
      body: { $clipped: { length: 100_000 } },
    })
    expect(() => model.event(99)).toThrow('has no event 99')
    expect(model.events(-5, 2)).toHaveLength(2)
    expect(model.events(NaN, Infinity)).toHaveLength(4)
  })
})

test('a stream is played back at the times of its pieces', () => {
  const run = new RunScript()
  const op = run.request(CHAT, { messages: [] })
  run.add({
    type: 'response',
    op,
    status: 200,
    statusText: 'OK',
    headers: [['content-type', 'text/event-stream']],
  })
  for (const word of ['Your ', 'order ', 'is late.'])
    run.wait(99).add({ type: 'deliver', op, part: 'chunk' }, delta(word))
  run.add({ type: 'deliver', op, part: 'end' })
  const model = run.model()
  const stream = model.stream('1')
  expect(stream?.chunks).toBe(3)
  expect(stream?.frames.map(({ at, answer }) => [at, answer.map(messageText).join('')])).toEqual([
    [101, 'Your '],
    [201, 'Your order '],
    [301, 'Your order is late.'],
  ])
  expect(stream?.frames.at(-1)?.answer).toEqual(model.step('1')?.conversation?.answer)
})

test('an answer in one piece is not a stream, nor is a tool', () => {
  const run = new RunScript()
  run.chat([{ role: 'user', content: 'a' }], 'b')
  run.tool('look', {}, 1)
  const model = run.model()
  expect(model.stream('1')).toBeUndefined()
  expect(model.stream('2')).toBeUndefined()
  expect(model.stream('9')).toBeUndefined()
})

test('a very long stream stays small enough to be sent', () => {
  const run = new RunScript()
  const op = run.request(CHAT, { messages: [] })
  const pieces = Array.from({ length: 2000 }, () => delta('word '.repeat(200)))
  run.answer(op, pieces, { type: 'text/event-stream' })
  const model = run.model()
  const stream = model.stream('1')
  expect(stream?.chunks).toBe(2000)
  expect(JSON.stringify(stream).length).toBeLessThan(8_000_000)
  expect(stream?.frames.at(-1)?.answer).toEqual(model.step('1')?.conversation?.answer)
})

const user = (content: string) => ({ role: 'user', content })

describe('rows', () => {
  test('arrive in chunks, the first one small, from any position', () => {
    const run = new RunScript()
    for (let count = 0; count < 1250; count++) run.tool('look', { count }, count)
    const model = run.model()
    const sizes = [...model.rows()].map((message) =>
      message.type === 'rows' ? [message.from, message.rows.label.length] : 'rest',
    )
    expect(sizes).toEqual([[0, 100], [100, 1000], [1100, 150], 'rest'])
    const [later] = model.rows(1249)
    expect(later?.type === 'rows' && rowAt(later.rows, 0)).toMatchObject({
      label: '1250',
      tool: 'look',
      title: 'look({"count":1249})',
    })
    expect([...model.rows(5000)].map(({ type }) => type)).toEqual(['rest'])
  })

  test('end with what needs all answers: callers, inferred tools, sums', () => {
    const run = new RunScript()
    const calls = ['a', 'b'].map((id) => ({
      id,
      type: 'function',
      function: { name: id === 'a' ? 'look' : 'unseen', arguments: '{"x":1}' },
    }))
    const requested = { role: 'assistant', tool_calls: calls }
    run.chat([user('go')], requested)
    run.tool('look', { x: 1 }, 'seen')
    const reported = { role: 'tool', tool_call_id: 'b', content: 'told' }
    run.chat([user('go'), requested, reported], 'done')
    const rest = [...run.model().rows()].at(-1)
    expect(rest).toMatchObject({ type: 'rest', parents: [[1, '1']] })
    if (rest?.type !== 'rest') return
    expect(rowAt(rest.inferred, 0, true)).toMatchObject({
      label: '1.1',
      parent: '1',
      tool: 'unseen',
      inferred: true,
    })
    expect(rest.totals).toMatchObject({ modelCalls: 2, toolCalls: 2 })
  })
})

test('a call that a guard served was not executed', () => {
  const run = new RunScript()
  const intent = { guard: 'shop', call: 1, fingerprint: 'f', occurrence: 1, policy: 'p' }
  for (const served of [undefined, { run: 'earlier', seq: 3 }]) {
    run.add({ type: 'draw', kind: 'guard', value: { ...intent, verdict: 'allow' } })
    const op = run.add({ type: 'call', kind: 'tool', name: 'pay', as: 'json' }, '{}')
    run.add({ type: 'result', op, guard: { status: 'done', ...(served && { served }) } })
  }
  const [rows] = run.model().rows()
  expect(rows?.type === 'rows' && [0, 1].map((index) => rowAt(rows.rows, index).origin)).toEqual([
    'live',
    'served',
  ])
})

test('events are found by type and text, ignoring case, all of them', () => {
  const run = new RunScript()
  for (let count = 0; count < 600; count++) {
    run.output('Hello\n')
    run.add({ type: 'draw', kind: 'Date.now', value: count })
  }
  const model = run.model()
  const found = (text: string) =>
    [...model.findEvents(text)].flatMap(({ rows }) => rows.map(({ seq }) => seq))
  expect(found('DRAW date')).toHaveLength(600)
  expect(found('hello').slice(0, 2)).toEqual([1, 3])
  expect(found('nothing')).toEqual([])
})

describe('the head of a run', () => {
  test('says what was recorded, how it ended and where', () => {
    const run = new RunScript({ command: ['python', 'agent.py'], cwd: '/app' })
    run.tool('look', {}, 1)
    const stack =
      'Error: no\n    at new Agent (/app/node_modules/x.js:1:1)\n    at main (/app/a.ts:9:3)'
    const error = { class: 'Error', name: 'Error', message: 'x'.repeat(100_000), stack }
    run.add({ type: 'end', exitCode: 1, error })
    const head = run.killed({ status: 'failed', redacted: true }).head()
    expect(head).toMatchObject({
      recorded: 'command',
      command: ['python', 'agent.py'],
      status: 'failed',
      exit: { code: 1 },
      exitStep: 'crash',
      recordedSteps: 1,
      redacted: true,
    })
    expect(JSON.stringify(head).length).toBeLessThan(20_000)
  })

  test('an error outside a step is a row after the last one, with stack and location', () => {
    const run = new RunScript()
    run.tool('look', {}, 1)
    const stack = 'SyntaxError: no\n    at main (/app/a.ts:9:3)'
    const error = { class: 'SyntaxError', name: 'SyntaxError', message: 'no', stack }
    run.add({ type: 'end', exitCode: 1, error })
    const model = run.killed({ status: 'failed' })
    const last = [...model.rows()].findLast((message) => message.type === 'rows')
    expect(last?.from).toBe(1)
    expect(last && rowAt(last.rows, 0)).toMatchObject({
      label: 'crash',
      kind: 'crash',
      state: 'failed',
      title: 'SyntaxError at a.ts:9: no',
    })
    expect(model.step('crash')).toMatchObject({
      site: '/app/a.ts:9:3',
      parent: '1',
      failure: { message: 'no', stack },
    })
    expect([...model.rows(2)].map(({ type }) => type)).toEqual(['rest'])
  })

  test('the error of a failed step is found there, not in a separate row', () => {
    const run = new RunScript()
    const error = { class: 'Error', name: 'Error', message: 'down', stack: 'Error: down' }
    for (const stack of ['Error: down\n    at a (/app/a.ts:1:1)', error.stack]) {
      const op = run.add({ type: 'call', kind: 'tool', name: 'pay', as: 'json' }, '{}')
      run.add({ type: 'result', op, error: { ...error, stack } })
    }
    run.tool('look', {}, 1)
    run.add({ type: 'end', exitCode: 1, error })
    const model = run.killed({ status: 'failed' })
    expect(model.head().exitStep).toBe('2')
    expect(model.step('crash')).toBeUndefined()
  })

  test('stays small where a fork put a large answer', () => {
    const run = new RunScript({
      branch: {
        kind: 'fork',
        at: '1',
        edits: [{ target: 'answer', value: 'x'.repeat(5_000_000) }],
      },
    })
    const head = run.model().head()
    expect(JSON.stringify(head).length).toBeLessThan(50_000)
    expect(head.branch?.edits[0]?.value).toMatchObject({ $clipped: { length: 5_000_000 } })
  })
})
