import * as fc from 'fast-check'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openTape } from '@retake/tape/node'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RunStore } from '@retake/runner/runs'
import { viewRun } from '@retake/runner/runs'
import { storedSpans } from './imported-run.js'
import { encodeSpans, type OtlpEncoding } from './otlp-encode.js'
import { detectFormat, type ImportFormat, readChunks, readerOf, readSpans } from './read-spans.js'
import { SPAN_KINDS, type Span } from './span.js'
import { describeProblems, SpanSpool } from './span-spool.js'

const hex = (digits: number) =>
  fc
    .bigInt({ min: 1n, max: 16n ** BigInt(digits) - 1n })
    .map((value) => value.toString(16).padStart(digits, '0'))
const nanos = fc.bigInt({ min: 1_700_000_000_000_000_000n, max: 1_800_000_000_000_000_000n })
const value = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((each) => !Number.isInteger(each)),
  fc.array(fc.string(), { maxLength: 3 }),
  fc.dictionary(fc.string({ minLength: 1 }), fc.integer(), { maxKeys: 2, noNullPrototype: true }),
)
const key = fc.oneof(
  fc.constantFrom('gen_ai.input.messages', 'gen_ai.operation.name', 'openinference.span.kind'),
  fc.constantFrom('input.value', 'output.value', 'llm.input_messages.0.message.role'),
  fc.string({ minLength: 1 }).filter((each) => each !== '__proto__'),
)
const attributes = fc.dictionary(key, value, { maxKeys: 6, noNullPrototype: true })
const span = (traceId: string): fc.Arbitrary<Span> =>
  fc
    .record({
      spanId: hex(16),
      parentSpanId: fc.option(hex(16), { nil: undefined }),
      name: fc.string(),
      kind: fc.constantFrom(...SPAN_KINDS),
      start: nanos,
      took: fc.bigInt({ min: 0n, max: 10n ** 12n }),
      attributes,
      events: fc.array(fc.record({ name: fc.string(), time: nanos.map(String), attributes }), {
        maxLength: 2,
      }),
      links: fc.array(fc.record({ traceId: hex(32), spanId: hex(16), attributes }), {
        maxLength: 1,
      }),
      status: fc.constantFrom<Span['status']>(
        { code: 0 },
        { code: 1 },
        { code: 2, message: 'it broke' },
      ),
      role: fc.constantFrom('chat', 'execute_tool', 'invoke_agent', undefined),
    })
    .map(({ start, took, parentSpanId, role, ...rest }) => ({
      ...rest,
      traceId,
      ...(parentSpanId !== undefined && { parentSpanId }),
      start: String(start),
      end: String(start + took),
      attributes: role ? { ...rest.attributes, 'gen_ai.operation.name': role } : rest.attributes,
      resource: RESOURCE,
      scope: SCOPE,
    }))
const RESOURCE = { attributes: { 'service.name': 'shop', 'process.pid': 12 } }
const SCOPE = { name: 'test', version: '1' }
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const trace = fc.uniqueArray(span(TRACE), {
  minLength: 1,
  maxLength: 8,
  selector: (each) => each.spanId,
})

function read(bytes: Uint8Array, size: number, format: ImportFormat = 'otlp') {
  const spans: Span[] = []
  const problems: string[] = []
  const all = Buffer.from(bytes)
  const sink = {
    span: (each: Span) => spans.push(each),
    problem: (why: string) => problems.push(why),
  }
  const reader = readerOf(format, all.subarray(0, 4096), sink, 'test')
  for (let at = 0; at < all.length; at += size) reader.write(all.subarray(at, at + size))
  reader.end()
  return { spans, problems }
}

const bySpan = (spans: readonly Span[]): Span[] =>
  spans.toSorted((left, right) => (left.spanId < right.spanId ? -1 : 1))

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'retake-import-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const imported = (spans: readonly Span[]) => {
  const spool = new SpanSpool(new RunStore(folder))
  for (const each of spans) spool.span(each)
  const runs = spool.traces.map((id) => spool.write(id, { from: 'otlp' }))
  spool.dispose()
  const tapes = runs.map(({ run }) => openTape(path.join(folder, `${run}.tape`)))
  return { tapes, problems: spool.problems }
}

describe.each<OtlpEncoding>(['json', 'protobuf'])('spans as %s', (encoding) => {
  test('are read as they were written, in pieces of any size', async () => {
    await fc.assert(
      fc.asyncProperty(trace, fc.integer({ min: 1, max: 4096 }), async (spans, size) => {
        const found = read(await encodeSpans(spans, encoding), size)
        expect(found.problems).toEqual([])
        expect(bySpan(found.spans)).toEqual(bySpan(spans))
      }),
      { numRuns: 60 },
    )
  })

  test('with broken bytes are read as far as possible, and never throw', async () => {
    await fc.assert(
      fc.asyncProperty(trace, fc.nat(), fc.nat(255), async (spans, at, byte) => {
        const bytes = await encodeSpans(spans, encoding)
        bytes[at % bytes.length] = byte
        expect(read(bytes, 100).spans.length).toBeLessThanOrEqual(spans.length)
        const cut = read(bytes.subarray(0, at % bytes.length), 100)
        expect(cut.spans.length + cut.problems.length).toBeGreaterThanOrEqual(
          at % bytes.length > 0 ? 1 : 0,
        )
      }),
      { numRuns: 100 },
    )
  })
})

test('an imported run has every span as it was, and can be read', () => {
  fc.assert(
    fc.property(trace, (spans) => {
      const { tapes } = imported(spans)
      const [tape] = tapes
      if (tape === undefined) throw new Error('no run')
      expect(bySpan([...storedSpans(tape)])).toEqual(bySpan(spans))
      expect(tape.verify().problem).toBeUndefined()
      const { steps } = viewRun(tape)
      const calls = spans.filter(({ attributes: { 'gen_ai.operation.name': operation } }) =>
        ['chat', 'execute_tool'].includes(String(operation)),
      )
      expect(steps.filter(({ inferred }) => !inferred).length).toBeGreaterThanOrEqual(calls.length)
      for (const step of steps) expect(typeof step.title).toBe('string')
      rmSync(folder, { recursive: true, force: true })
    }),
    { numRuns: 60 },
  )
})

test('spans out of order, twice or without their parent are counted and kept', () => {
  const make = (id: string, start: bigint, parentSpanId?: string): Span => ({
    traceId: TRACE,
    spanId: id.padStart(16, '0'),
    ...(parentSpanId !== undefined && { parentSpanId: parentSpanId.padStart(16, '0') }),
    name: `chat ${id}`,
    kind: 'client',
    start: String(1_790_000_000_000_000_000n + start),
    end: String(1_790_000_000_000_000_000n + start + 5n),
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' },
    events: [],
    links: [],
    status: { code: 0 },
    resource: RESOURCE,
    scope: SCOPE,
  })
  const { tapes, problems } = imported([
    make('3', 30n, '9'),
    make('1', 10n),
    make('1', 10n),
    make('2', 20n, '1'),
  ])
  expect(Object.fromEntries(problems)).toEqual({
    'spans out of order': 1,
    'spans with the id of another': 1,
    'spans whose parent is missing': 1,
  })
  expect(tapes[0]?.details.imported).toMatchObject({ spans: 3, trace: TRACE })
  expect(tapes[0] && viewRun(tapes[0]).steps).toHaveLength(3)
  expect(
    readdirSync(folder).filter((name) => !name.endsWith('.tape') && name !== '.gitignore'),
  ).toEqual([])
})

test('spans that wait for the rest of their trace do not keep their content in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const spool = new SpanSpool(new RunStore(folder))
  const [count, size] = [200, 200_000]
  const used = (): number => {
    collectGarbage()
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    return arrayBuffers + heapUsed
  }
  const before = used()
  for (let id = 1; id <= count; id++)
    spool.span({
      traceId: TRACE,
      spanId: String(id).padStart(16, '0'),
      name: 'chat',
      kind: 'client',
      start: String(id),
      end: String(id + 1),
      attributes: { 'input.value': `${id} `.padEnd(size, 'x') },
      events: [],
      links: [],
      status: { code: 0 },
      resource: RESOURCE,
      scope: SCOPE,
    })
  // Buffers are freed in the background.
  await expect.poll(() => used() - before).toBeLessThan((count * size) / 10)
  spool.dispose()
})

describe('records of other tools', () => {
  const lines = (...records: readonly object[]): Buffer =>
    Buffer.from(records.map((each) => `${JSON.stringify(each)}\n`).join(''))
  const runOf = (bytes: Buffer) => {
    const format = detectFormat(bytes)
    if (format === undefined || format === 'har') throw new Error(`detected ${format}`)
    const { spans, problems } = read(bytes, 50, format)
    expect(problems).toEqual([])
    const [tape] = imported(spans).tapes
    if (tape === undefined) throw new Error('no run')
    return { format, steps: viewRun(tape).steps, tape }
  }
  const messages = [{ role: 'user', content: 'Where is my order?' }]

  test('a trace of Langfuse becomes a run', () => {
    const trace_ = {
      id: 'd9a1d9a1-0000-4000-8000-000000000001',
      name: 'refund',
      timestamp: '2026-11-15T10:00:00.000Z',
      observations: [
        {
          id: 'o1',
          traceId: 'd9a1d9a1-0000-4000-8000-000000000001',
          type: 'GENERATION',
          name: 'answer',
          startTime: '2026-11-15T10:00:01.000Z',
          endTime: '2026-11-15T10:00:02.000Z',
          model: 'gpt-5',
          input: messages,
          output: { role: 'assistant', content: 'On its way.' },
          usageDetails: { input: 12, output: 4 },
        },
        {
          id: 'o2',
          traceId: 'd9a1d9a1-0000-4000-8000-000000000001',
          type: 'TOOL',
          name: 'lookup',
          startTime: '2026-11-15T10:00:03.000Z',
          endTime: '2026-11-15T10:00:04.000Z',
          input: { id: 7 },
          output: { found: true },
        },
      ],
    }
    const { format, steps } = runOf(Buffer.from(JSON.stringify(trace_)))
    expect(format).toBe('langfuse')
    expect(steps.map(({ kind, title }) => [kind, title])).toEqual([
      ['model', 'gpt-5 → “On its way.”'],
      ['tool', 'lookup({"id":7})'],
    ])
    expect(steps[0]?.usage).toMatchObject({ input: 12, output: 4 })
  })

  test('runs of LangSmith become a run', () => {
    const { format, steps } = runOf(
      lines(
        {
          id: 'r1',
          trace_id: 'r1',
          run_type: 'chain',
          name: 'agent',
          start_time: '2026-11-15T10:00:00.000000',
          end_time: '2026-11-15T10:00:09.000000',
          inputs: {},
        },
        {
          id: 'r2',
          trace_id: 'r1',
          parent_run_id: 'r1',
          run_type: 'llm',
          name: 'ChatOpenAI',
          start_time: '2026-11-15T10:00:01.000000',
          end_time: '2026-11-15T10:00:02.000000',
          extra: { metadata: { ls_model_name: 'gpt-5', ls_provider: 'openai' } },
          inputs: { messages: [[{ id: ['x', 'HumanMessage'], kwargs: { content: 'Hi' } }]] },
          outputs: {
            generations: [[{ message: { id: ['x', 'AIMessage'], kwargs: { content: 'Hello' } } }]],
          },
          error: null,
        },
      ),
    )
    expect(format).toBe('langsmith')
    expect(steps.map(({ kind, provider, title }) => [kind, provider, title])).toEqual([
      ['model', 'openai', 'gpt-5 → “Hello”'],
    ])
    expect(steps[0]?.messages()).toEqual([{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }])
  })

  test('a log of agentrr becomes a run', () => {
    const event = {
      run_id: 'run-7',
      parent_id: null,
      ts_wall: '2026-11-15T10:00:02.000000Z',
      status: 'ok',
      error: null,
      integrity: 'a',
    }
    const { format, steps } = runOf(
      lines(
        {
          kind: 'header',
          log_format_version: '1.0',
          run_id: 'run-7',
          sdk_version: '0.1.0',
          entrypoint: 'agent:main',
        },
        { ...event, event_id: 'e-1', seq: 0, type: 'run_start', request: { status: 'started' } },
        {
          ...event,
          event_id: 'e-2',
          seq: 1,
          type: 'llm_call',
          request: { model: 'gpt-5', messages: [{ role: 'user', content: 'Hi' }], params: {} },
          response: { content: 'Hello', finish_reason: 'stop', tool_calls: [] },
          meta: { request_sig: 's' },
        },
        {
          ...event,
          event_id: 'e-3',
          seq: 2,
          ts_wall: '2026-11-15T10:00:03.000000Z',
          type: 'tool_call',
          status: 'error',
          request: { name: 'refund', arguments: { order: 7 } },
          response: null,
          error: { type: 'ValueError', message: 'the bank is closed', payload: {} },
          meta: { duration_ms: 12 },
        },
        {
          ...event,
          event_id: 'e-4',
          ts_wall: '2026-11-15T10:00:04.000000Z',
          seq: 3,
          type: 'clock_read',
          request: {},
          response: { value: 1 },
        },
      ),
    )
    expect(format).toBe('agentrr')
    expect(steps.map(({ kind, title }) => [kind, title])).toEqual([
      ['model', 'gpt-5 → “Hello”'],
      ['tool', 'refund({"order":7})'],
      ['mark', 'clock_read'],
    ])
    expect(steps[0]?.messages()).toEqual([{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }])
    expect(steps[1]?.error).toContain('the bank is closed')
  })

  test('a data set that tracefork exported becomes a run, in its order', () => {
    const example = (at: number, answer: string): object => ({
      id: `00f067aa0ba902b${at}`,
      'input.value': JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] }),
      'output.value': answer,
      metadata: {
        'openinference.span.kind': 'LLM',
        'llm.provider': 'anthropic',
        'llm.model_name': 'claude-x',
        'tracefork.step_index': at,
      },
    })
    const { format, steps } = runOf(
      Buffer.from(
        JSON.stringify({
          dataset_name: 'agent',
          openinference_semconv_note: 'names (llm.model_name)',
          examples: [example(0, 'first'), example(1, 'second')],
        }),
      ),
    )
    expect(format).toBe('tracefork')
    expect(steps.map(({ title }) => title)).toEqual(['claude-x → “first”', 'claude-x → “second”'])
  })

  test('spans of TRAIL and of Phoenix become runs without losing a field', () => {
    const inner = {
      timestamp: '2025-03-19T16:38:32.000000Z',
      trace_id: TRACE,
      span_id: '00f067aa0ba902b7',
      parent_span_id: '00f067aa0ba902b6',
      span_name: 'LiteLLMModel.__call__',
      span_kind: 'Internal',
      service_name: 'agent',
      duration: 'PT2.5S',
      status_code: 'Ok',
      logs: [{ a: 1 }],
      span_attributes: {
        'openinference.span.kind': 'LLM',
        'llm.model_name': 'o3-mini',
        'llm.output_messages.0.message.role': 'assistant',
        'llm.output_messages.0.message.content': 'Done',
        'custom.field': 'kept',
      },
      child_spans: [],
    }
    const trail = runOf(
      Buffer.from(
        JSON.stringify({
          trace_id: TRACE,
          spans: [
            {
              ...inner,
              span_id: '00f067aa0ba902b6',
              parent_span_id: null,
              span_name: 'main',
              span_attributes: {},
              child_spans: [inner],
            },
          ],
        }),
      ),
    )
    expect(trail.format).toBe('trail')
    expect(trail.steps.map(({ title, latencyMs }) => [title, latencyMs])).toEqual([
      ['o3-mini → “Done”', 2500],
    ])
    expect([...storedSpans(trail.tape)].at(-1)?.attributes).toMatchObject({
      'custom.field': 'kept',
      'trail.logs': '[{"a":1}]',
    })
    expect([...storedSpans(trail.tape)].map(({ status }) => status)).toEqual([
      { code: 1 },
      { code: 1 },
    ])
    const phoenix = runOf(
      lines({
        name: 'ChatCompletion',
        span_kind: 'LLM',
        context: { trace_id: TRACE, span_id: '00f067aa0ba902b7' },
        parent_id: null,
        start_time: '2026-11-15T10:00:01+00:00',
        end_time: '2026-11-15T10:00:02+00:00',
        status_code: 'OK',
        attributes: {
          llm: {
            model_name: 'gpt-5',
            output_messages: [{ message: { role: 'assistant', content: 'Hi' } }],
          },
        },
      }),
    )
    expect(phoenix.steps.map(({ title }) => title)).toEqual(['gpt-5 → “Hi”'])
  })

  test('an HTTP archive becomes a run whose models are recognised, without credentials', () => {
    const spool = new SpanSpool(new RunStore(folder))
    const secret = ['sk', 'proj', 'a1B2c3D4e5F6g7H8i9J0k1L2'].join('-')
    const reader = readerOf('har', Buffer.alloc(0), spool, 'shop.har')
    const entry = {
      startedDateTime: '2026-11-15T10:00:00.000Z',
      time: 120,
      request: {
        method: 'POST',
        url: 'https://api.openai.com/v1/chat/completions',
        headers: [
          { name: 'Authorization', value: `Bearer ${secret}` },
          { name: 'Content-Type', value: 'application/json' },
        ],
        postData: {
          mimeType: 'application/json',
          text: JSON.stringify({ model: 'gpt-5', messages, user: secret }),
        },
      },
      response: {
        status: 200,
        statusText: 'OK',
        headers: [{ name: 'content-type', value: 'application/json' }],
        content: {
          text: JSON.stringify({
            model: 'gpt-5',
            choices: [{ message: { role: 'assistant', content: 'Soon.' }, finish_reason: 'stop' }],
          }),
        },
      },
    }
    reader.write(Buffer.from(JSON.stringify({ log: { creator: { name: 'x' }, entries: [entry] } })))
    reader.end()
    const [run] = spool.traces.map((id) => spool.write(id, { from: 'har' }))
    spool.dispose()
    const tape = openTape(path.join(folder, `${run?.run}.tape`))
    const [step] = viewRun(tape).steps
    expect([step?.kind, step?.provider, step?.title]).toEqual([
      'model',
      'openai',
      'gpt-5 → “Soon.”',
    ])
    const all = Array.from(
      { length: tape.count },
      (_, seq) => JSON.stringify(tape.event(seq)) + Buffer.from(tape.body(seq)).toString(),
    )
    expect(all.join('')).not.toContain(secret)
  })
})

test('of a compressed file that is cut off, everything before the end is read', async () => {
  const spans = fc.sample(span(TRACE), { numRuns: 400, seed: 1 })
  const whole = gzipSync(await encodeSpans(spans, 'json'))
  const file = path.join(folder, 'cut.json.gz')
  writeFileSync(file, whole.subarray(0, whole.length - 2000))
  const spool = new SpanSpool(new RunStore(folder))
  expect(await readSpans(readChunks(file), spool, { source: 'cut.json.gz' })).toBe('otlp')
  spool.dispose()
  expect(spool.spans).toBeGreaterThan(0)
  expect(describeProblems(spool.problems).at(-1)).toMatch(
    /^left out: .*1 part that cannot be unpacked/,
  )
})
