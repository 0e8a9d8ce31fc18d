import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { NewEvent } from '@retake/tape'
import { openTape, TapeWriter } from '@retake/tape/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sampleFindings } from '../../../../test/support/blame-findings.js'
import { viewRun } from '@retake/runner/runs'
import { chromeTraceOf } from './chrome-trace.js'
import { spansOfRun } from './spans-of-run.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'retake-export-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A tape of the events that `write` adds, ten milliseconds apart. */
function runOf(write: (add: (event: NewEvent, body?: string) => number) => void) {
  const file = path.join(folder, 'run.tape')
  let now = 0
  const writer = TapeWriter.create(
    file,
    {
      type: 'run',
      id: 'run-1',
      name: 'shop',
      startedAt: 1_790_000_000_000,
      scope: 'process',
      node: process.version,
    },
    {},
    { now: () => (now += 10) },
  )
  write((event, body) => writer.append(event, body === undefined ? undefined : Buffer.from(body)))
  writer.append({ type: 'end', exitCode: 0 })
  writer.seal()
  const tape = openTape(file)
  return { tape, view: viewRun(tape) }
}

/** Two tools that run side by side, then one that fails. */
const parallel = () =>
  runOf((add) => {
    const tool = (name: string): number =>
      add({ type: 'call', kind: 'tool', name, as: 'json' }, '{"id":7}')
    const done = (op: number): number => add({ type: 'deliver', op, part: 'end' })
    const [first, second] = [tool('lookup'), tool('weather')]
    done(second)
    done(first)
    const error = { class: 'Error', name: 'Error', message: 'the bank is closed' }
    add({ type: 'deliver', op: tool('refund'), part: 'error', error })
  })

interface TraceEvent {
  readonly ph: string
  readonly name: string
  readonly tid?: number
  readonly ts?: number
  readonly dur?: number
  readonly args: Readonly<Record<string, unknown>>
}

test('a Chrome trace has one named thread for each lane, and each step on the thread of its lane', () => {
  const { tape, view } = parallel()
  const { traceEvents } = JSON.parse([...chromeTraceOf(tape, view)].join('')) as {
    traceEvents: TraceEvent[]
  }
  const names = traceEvents.filter(({ ph }) => ph === 'M')
  expect(names.map(({ name, tid, args }) => [name, tid, args['name']])).toEqual([
    ['process_name', undefined, 'shop'],
    ['thread_name', 0, 'lane 0'],
    ['thread_name', 1, 'lane 1'],
  ])
  const steps = traceEvents.filter(({ ph }) => ph === 'X')
  expect(steps.map(({ name, tid }) => [name, tid])).toEqual([
    ['lookup({"id":7})', 0],
    ['weather({"id":7})', 1],
    ['refund({"id":7})', 0],
  ])
  // Microseconds, as the format has them.
  const [lookup, weather, refund] = steps
  expect(lookup?.dur).toBe(30_000)
  expect(weather?.dur).toBe(10_000)
  expect((weather?.ts ?? 0) - (lookup?.ts ?? 0)).toBe(10_000)
  expect(refund?.args).toMatchObject({ state: 'failed', error: 'Error: the bank is closed' })
  // Events of one thread must not overlap unless one is inside the other.
  expect(refund?.ts).toBeGreaterThanOrEqual((lookup?.ts ?? 0) + (lookup?.dur ?? 0))
})

const OPTIONS = { conventions: 'both', content: false, version: '1.0.0' } as const

test('findings of blame are evaluations of the run and of its steps', () => {
  const { tape, view } = parallel()
  const findings = sampleFindings()
  const spans = [...spansOfRun(tape, view, { ...OPTIONS, findings })]
  const evaluations = spans.map(({ name, events }) => [
    name,
    events
      .filter((event) => event.name === 'gen_ai.evaluation.result')
      .map(({ attributes }) => attributes),
  ])
  expect(evaluations).toEqual([
    [
      'invoke_agent shop',
      [
        {
          'gen_ai.evaluation.name': 'retake.blame',
          'gen_ai.evaluation.score.value': 0.962,
          'gen_ai.evaluation.score.label': 'attributed',
          'retake.blame.causes': ['2 + 5', '7'],
        },
      ],
    ],
    [
      'execute_tool lookup',
      [expect.objectContaining({ 'gen_ai.evaluation.score.label': 'clear' })],
    ],
    [
      'execute_tool weather',
      [
        {
          'gen_ai.evaluation.name': 'retake.blame',
          'gen_ai.evaluation.score.value': 0.5,
          'gen_ai.evaluation.score.label': 'joint',
          'retake.blame.necessary': true,
          'retake.blame.sufficient': false,
          'retake.blame.alone.fails': 1,
          'retake.blame.alone.forks': 8,
          'retake.blame.alone.low': expect.any(Number) as number,
          'retake.blame.alone.high': expect.any(Number) as number,
        },
      ],
    ],
    [
      'execute_tool refund',
      [expect.objectContaining({ 'gen_ai.evaluation.score.label': 'clear' })],
    ],
  ])
  expect([...spansOfRun(tape, view, OPTIONS)].flatMap(({ events }) => events)).toEqual([
    expect.objectContaining({ name: 'exception' }),
  ])
})

test('requests to an MCP server have the attributes of the MCP conventions', () => {
  const message = (fields: object): string => `${JSON.stringify({ jsonrpc: '2.0', ...fields })}\n`
  const { tape, view } = runOf((add) => {
    const op = add(
      { type: 'call', kind: 'process', name: 'spawn', title: 'docs', as: 'json' },
      '{}',
    )
    const exchange = (id: number, method: string, params: object, answer: object): void => {
      add({ type: 'write', op }, message({ id, method, params }))
      add({ type: 'deliver', op, part: 'chunk', pipe: 1 }, message({ id, ...answer }))
    }
    const server = { serverInfo: { name: 'docs', version: '1' }, capabilities: {} }
    exchange(0, 'initialize', { protocolVersion: '2025-11-25' }, { result: server })
    exchange(1, 'tools/list', {}, { result: { tools: [] } })
    exchange(
      2,
      'tools/call',
      { name: 'search', arguments: { query: 'a' } },
      { result: { content: [{ type: 'text', text: 'found' }] } },
    )
    exchange(
      3,
      'tools/call',
      { name: 'search', arguments: {} },
      { result: { isError: true, content: [{ type: 'text', text: 'no index' }] } },
    )
    add({ type: 'deliver', op, part: 'exit', value: [0, null] })
  })
  const spans = [...spansOfRun(tape, view, OPTIONS)].filter(
    ({ attributes }) => attributes['mcp.method.name'] !== undefined,
  )
  const picked = [
    'mcp.method.name',
    'jsonrpc.request.id',
    'network.transport',
    'mcp.server.name',
    'gen_ai.operation.name',
    'gen_ai.tool.name',
    'error.type',
  ]
  expect(
    spans.map(({ name, kind, attributes }) => [
      name,
      kind,
      ...picked.map((key) => attributes[key]),
    ]),
  ).toEqual([
    ['initialize', 'client', 'initialize', '0', 'pipe', 'docs', undefined, undefined, undefined],
    ['tools/list', 'client', 'tools/list', '1', 'pipe', 'docs', undefined, undefined, undefined],
    [
      'tools/call search',
      'client',
      'tools/call',
      '2',
      'pipe',
      'docs',
      'execute_tool',
      'search',
      undefined,
    ],
    [
      'tools/call search',
      'client',
      'tools/call',
      '3',
      'pipe',
      'docs',
      'execute_tool',
      'search',
      'tool_error',
    ],
  ])
})
