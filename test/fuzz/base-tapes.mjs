/** Small tapes that together contain every kind of record, of body and of storage. */
import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { encodeBody, recordError } from '@retake/tape/format'
import { nodePlatform } from '@retake/tape/node'

const golden = new URL('../golden/', import.meta.url)
const utf8 = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))

/** A script of events with their bodies; `add` gives the number of the event. */
class Script {
  drafts = []
  constructor(run = {}, details = {}) {
    this.add(
      {
        type: 'run',
        format: 1,
        id: 'run-1',
        name: 'sample',
        startedAt: 1_790_000_000_000,
        scope: 'process',
        node: 'v20.20.2',
        ...run,
      },
      utf8({ entry: 'agent.mjs', args: ['a'], cwd: '/agent', ...details }),
    )
  }

  add(event, body = Buffer.alloc(0)) {
    const bytes = typeof body === 'string' ? utf8(body) : body
    return this.drafts.push({ event, body: bytes }) + (this.shift ?? 0) - 1
  }

  call(kind, name, args, result, more = {}) {
    const { as, body } = encodeBody(args)
    const op = this.add({ type: 'call', kind, name, title: name, as, ...more.call }, body)
    if (result === undefined) return op
    const answer = encodeBody(result)
    this.add({ type: 'result', op, as: answer.as, ...more.result }, answer.body)
    return op
  }

  fetch(url, body, pieces, { status = 200, type = 'application/json', headers = [] } = {}) {
    const op = this.add(
      {
        type: 'request',
        seam: 'fetch',
        method: 'POST',
        url,
        headers: [['content-type', 'application/json']],
        site: 'agent.mjs:3:5',
        within: [{ kind: 'agent', name: 'main', id: '1' }],
      },
      utf8(body),
    )
    const all = [['content-type', type], ...headers]
    this.add({ type: 'response', op, status, statusText: 'OK', headers: all, url })
    for (const piece of pieces) this.add({ type: 'deliver', op, part: 'chunk' }, utf8(piece))
    this.add({ type: 'deliver', op, part: 'end', joined: true })
    return op
  }
}

const CHAT = 'https://api.openai.com/v1/chat/completions'
const delta = (content) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: content }] })}\n\n`
const system = 'You are a careful agent. Check every order before you refund it. '.repeat(12)

function conversation() {
  const tape = new Script({}, { tags: ['a'], env: { HOME: '/home' }, platform: 'linux' })
  tape.add({ type: 'draw', kind: 'Date.now', value: 1_790_000_000_001 })
  tape.add({ type: 'draw', kind: 'crypto.randomBytes', value: { $: 'Buffer', v: 'AAEC' } })
  const messages = [{ role: 'system', content: system }]
  for (let turn = 0; turn < 3; turn++) {
    messages.push({ role: 'user', content: `Order ${turn}: refund it, please` })
    const call = {
      id: `c${turn}`,
      type: 'function',
      function: { name: 'refund', arguments: '{"a":1}' },
    }
    tape.fetch(
      CHAT,
      { model: 'gpt-4o', stream: true, messages },
      [
        delta({ role: 'assistant', tool_calls: [{ index: 0, ...call }] }),
        'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}\n\ndata: [DONE]\n\n',
      ],
      { type: 'text/event-stream' },
    )
    messages.push({ role: 'assistant', tool_calls: [call] })
    const decision = { verdict: 'allow', rule: 'p/r', policy: 'h', effects: ['spend'] }
    const value = { guard: 'main', call: turn + 1, fingerprint: 'f', occurrence: 1, ...decision }
    tape.add({ type: 'draw', kind: 'guard', value })
    tape.call(
      'tool',
      'refund',
      { order: turn },
      { ok: true },
      {
        call: { within: [{ kind: 'tool', name: 'refund' }], site: 'agent.mjs:9:1' },
        result: {
          guard: {
            status: 'done',
            attempts: 1,
            usage: { costUsd: 0.1 },
            drift: [{ code: 'TYPE_CHANGED', path: 'a', expected: 'text', found: 'number' }],
            approval: {
              by: 'a',
              how: 'terminal',
              digest: 'd',
              askedAt: 1,
              decidedAt: 2,
              expiresAt: 3,
            },
            served: { run: 'run-0', seq: 3 },
            tookMs: 4,
          },
        },
      },
    )
    messages.push({ role: 'tool', tool_call_id: `c${turn}`, content: '{"ok":true}' })
  }
  tape.fetch(
    'https://api.anthropic.com/v1/messages',
    { model: 'claude-sonnet-4-5', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] },
    [
      {
        id: 'm',
        type: 'message',
        role: 'assistant',
        content: [{ type: 'text', text: 'hi' }],
        usage: { input_tokens: 1, output_tokens: 2 },
      },
    ],
  )
  tape.add({ type: 'output', stream: 'stdout' }, 'refunded\n')
  tape.add({ type: 'end', exitCode: 0 })
  return tape
}

function operations() {
  const tape = new Script(
    { scope: 'function' },
    {
      entry: 'src/agent.ts#handle',
      input: { $: 'Map', v: [['a', 1]] },
      host: { pid: 1, ppid: 0, hostname: 'h', script: 'a.mjs' },
      code: { list: 'ab'.repeat(32), files: 1 },
      preloads: [{ how: 'import', name: './p.mjs' }],
      stdio: { stdout: { isTTY: true, columns: 80 } },
      startedBy: { run: 'run-0', seq: 4 },
    },
  )
  const timer = tape.add({ type: 'timer', kind: 'timeout', ms: 5 })
  tape.add({ type: 'deliver', op: timer, part: 'fire' })
  const work = tape.add({ type: 'work', name: 'zlib.gzip' })
  tape.add({ type: 'deliver', op: work, part: 'end' })
  const socket = tape.add({ type: 'socket', kind: 'tls', host: 'api.example.com', port: 443 })
  tape.add({ type: 'deliver', op: socket, part: 'connect', value: { family: 'IPv4' } })
  tape.add({
    type: 'request',
    seam: 'http',
    method: 'GET',
    url: 'https://api.example.com/a',
    headers: [['host', 'api.example.com']],
    socket,
  })
  const content = gzipSync('{"items":[1,2,3]}')
  tape.add(
    { type: 'deliver', op: socket, part: 'chunk', written: 40, digest: 'ab' },
    Buffer.concat([
      utf8(
        `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${content.length}\r\n\r\n`,
      ),
      content,
    ]),
  )
  tape.add({ type: 'deliver', op: socket, part: 'close' })
  const broken = tape.add({ type: 'socket', kind: 'tcp', host: 'db', port: 5432 })
  tape.add({
    type: 'deliver',
    op: broken,
    part: 'error',
    error: recordError(new TypeError('refused')),
  })
  const mcp = tape.call('process', 'spawn', { file: 'node', args: ['server.mjs'] })
  const rpc = (message) => utf8(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  tape.add(
    { type: 'write', op: mcp, site: 'agent.mjs:4:4' },
    rpc({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25' } }),
  )
  tape.add(
    { type: 'deliver', op: mcp, part: 'chunk', pipe: 1 },
    rpc({ id: 0, result: { serverInfo: { name: 's' } } }),
  )
  tape.add(
    { type: 'write', op: mcp },
    rpc({ id: 1, method: 'tools/call', params: { name: 'look', arguments: { a: 1 } } }),
  )
  tape.add(
    { type: 'deliver', op: mcp, part: 'chunk', pipe: 1 },
    rpc({ id: 1, result: { content: [{ type: 'text', text: 'x' }] } }),
  )
  tape.add({ type: 'write', op: mcp, as: 'json' }, '{"message":1}')
  tape.add({ type: 'deliver', op: mcp, part: 'exit', value: [0, null] })
  tape.call('file', 'fs.readFile', ['a.txt'], 'line of a file\n'.repeat(40))
  tape.call('file', 'fs.readFile', ['b.txt'], 'line of a file\n'.repeat(40))
  tape.call('file', 'fs.writeFileSync', ['c.txt', 'x'], undefined, { call: { sync: true } })
  tape.call('dns', 'dns.lookup', ['a'], [['1.2.3.4', 4]])
  tape.call('database', 'sqlite.all', ['select 1'], [{ a: 1n, b: new Date(1) }])
  tape.call('input', 'stdin', null, 'a')
  tape.call('worker', 'Worker', ['w.mjs'], null)
  const failing = tape.call('tool', 'fail', [])
  tape.add({
    type: 'result',
    op: failing,
    error: recordError(
      new AggregateError([new Error('a'), 'b'], 'c', { cause: new RangeError('d') }),
    ),
  })
  for (const note of [
    {
      kind: 'boundary',
      name: 'worker_threads',
      site: 'a.mjs:1:1',
      text: 't',
      consequence: 'stops',
      count: 2,
    },
    { kind: 'mark', name: 'here' },
    { kind: 'attachment', name: 'site', text: String(timer), site: 'a.mjs:2:2' },
    { kind: 'attachment', name: 'link' },
  ])
    tape.add({ type: 'note', ...note })
  const intent = {
    guard: 'main',
    call: 9,
    fingerprint: 'f',
    occurrence: 1,
    verdict: 'allow',
    policy: 'h',
  }
  for (const [name, value] of [
    [
      'guard',
      {
        guard: 'main',
        policy: { hash: 'h', policies: [] },
        environment: { node: 'v20', platform: 'linux', retake: {} },
        resumes: [{ run: 'run-0', chain: 'c' }],
      },
    ],
    ['guard-call', { intent, tool: 't', body: '{}', as: 'json' }],
    ['guard-result', { op: failing + 6, facts: { status: 'done' }, body: '{}', as: 'json' }],
    ['guard-approved', { op: failing }],
    ['guard-again', { op: failing, intent, spent: { costUsd: 1 } }],
    ['guard-spent', { guard: 'main', usage: { costUsd: 1 }, op: failing }],
    [
      'guard-left-open',
      {
        guard: 'main',
        calls: [{ tool: 't', fingerprint: 'f', occurrence: 1, from: { run: 'run-0', seq: 2 } }],
      },
    ],
    ['langgraph', { thread: 't', checkpoint: { id: 'a' } }],
    ['environment', { PATH: '/bin' }],
  ])
    tape.add({ type: 'note', kind: 'attachment', name }, utf8(value))
  const result = encodeBody(new Map([['a', [1, 2]]]))
  tape.add({ type: 'end', as: result.as, error: recordError(new Error('end')) }, result.body)
  return tape
}

function command() {
  const tape = new Script(
    {},
    {
      entry: undefined,
      command: ['python', 'agent.py'],
      proxy: {
        port: 1234,
        routes: [{ name: 'openai', upstream: 'https://api.openai.com' }],
        matchers: ['dates'],
        variables: { A: '/a' },
        tls: true,
      },
      branch: undefined,
    },
  )
  tape.fetch(CHAT, { model: 'gpt-4o', messages: [{ role: 'user', content: 'a' }] }, [
    { choices: [{ message: { role: 'assistant', content: 'b' } }] },
  ])
  tape.add({ type: 'output', stream: 'stderr' }, 'x\n')
  tape.add({ type: 'end', exitCode: 1, signal: 'SIGTERM' })
  return tape
}

function imported() {
  const tape = new Script(
    {},
    {
      entry: undefined,
      imported: { from: 'otlp', source: 's.json', trace: 't', spans: 2, problems: { a: 1 } },
    },
  )
  const op = tape.call('tool', 'search', { q: 1 }, { found: [] })
  tape.add(
    { type: 'request', seam: 'fetch', method: 'POST', url: 'imported:model', headers: [] },
    utf8({ model: 'gpt-4o', messages: [{ role: 'user', content: 'x' }], parent: op }),
  )
  tape.add({ type: 'end' })
  return tape
}

function redacted() {
  const tape = new Script(
    {},
    {
      redaction: { key: 'k', kinds: ['email'], rules: 'AA==' },
      scrubbedFrom: 'd',
      pseudonymKey: 'p',
    },
  )
  const op = tape.fetch(
    CHAT,
    { model: 'gpt-4o', stream: true, messages: [] },
    [delta({ content: 'xxxx' })],
    { type: 'text/event-stream' },
  )
  tape.add(
    { type: 'note', kind: 'attachment', name: 'redaction', text: 'readable' },
    utf8(`[[${op + 2},4]]\nabcd`),
  )
  tape.add({ type: 'note', kind: 'attachment', name: 'redaction', text: 'values' }, utf8('AAAA'))
  tape.add({ type: 'end', exitCode: 0 })
  return tape
}

function provider(file) {
  const {
    url,
    request,
    status = 200,
    headers,
    body,
    frames,
  } = JSON.parse(readFileSync(file, 'utf8'))
  const tape = new Script()
  tape.fetch(url, request, body ?? (frames ?? []).map((frame) => JSON.stringify(frame)), {
    status,
    type: headers['content-type'],
    headers: Object.entries(headers),
  })
  tape.add({ type: 'end', exitCode: 0 })
  return tape
}

/** The records of a script, as they are on a tape. */
export const scripts = () => {
  const folder = new URL('providers/', golden)
  const providers = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return [
    ...[conversation, operations, conversation, operations, command, imported, redacted].map(
      (make) => make().drafts,
    ),
    // One of each five: they differ in the bodies only.
    ...providers
      .filter((_, index) => index % 5 === 0)
      .map((name) => provider(new URL(name, folder)).drafts),
  ]
}

/** Tapes of every format, sealed, killed and packed. */
export const goldenTapes = () =>
  readdirSync(golden)
    .filter((name) => name.startsWith('format-') && name.endsWith('.tape'))
    .map((name) => readFileSync(new URL(name, golden)))

/** Encodes records anew: checksums, chain and seal are right, whatever the records say. */
export function encodeScript(RecordEncoder, drafts, { isSealed, parent }) {
  const encoder = new RecordEncoder(nodePlatform)
  const pieces = []
  const take = () => {
    for (const piece of encoder.take()) pieces.push(Buffer.from(piece))
  }
  for (const [index, { event, body, json, at = index / 8 }] of drafts.entries()) {
    const start = index === 0 && parent ? { ...event, parent } : event
    encoder.encode(start, at, body, json)
    take()
  }
  if (isSealed)
    for (const piece of encoder.encodeSeal(drafts.length / 8)) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}
