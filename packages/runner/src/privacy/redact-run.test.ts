import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { eventLines, type NewEvent, TEXT_MEMBERS, toWire } from '@retake/tape'
import { looseTape, openTape, TapeWriter } from '@retake/tape/node'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { viewRun } from '../runs/view-run.js'
import { readPatterns } from '@retake/engine/runs'
import { blankAnswer, Mask } from './mask.js'
import { redactRun } from './redact-run.js'

let folder = ''
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Writes a tape and gives its redacted form. */
function redacted(
  events: readonly (readonly [NewEvent, (string | Uint8Array)?])[],
  pattern: string | RegExp,
  { name = 'run', details = {} }: { name?: string; details?: object } = {},
) {
  folder = mkdtempSync(path.join(os.tmpdir(), 'retake-test-'))
  const file = path.join(folder, 'r1.tape')
  const run = {
    type: 'run',
    id: 'r1',
    name,
    startedAt: 0,
    scope: 'process',
    node: 'v20',
  } as const
  const writer = TapeWriter.create(file, run, details)
  for (const [event, body] of events)
    writer.append(event, typeof body === 'string' ? Buffer.from(body) : body)
  writer.seal()
  return { source: file, ...redactRun(file, readPatterns([pattern]), folder) }
}

/** Everything that can be read of a tape: as bytes, as lines, and as the viewer reads it. */
function everythingOf(file: string): string {
  const tape = openTape(file)
  const view = viewRun(tape)
  const read = view.steps.map((step) => [
    step.title,
    step.error,
    { ...step.exchange(), chunks: [] },
    step.call(),
    step.mcp(),
  ])
  const stdout = view.outputs.filter(({ stream }) => stream === 'stdout')
  const printed = stdout.map((output) => Buffer.from(view.outputBytes(output)).toString())
  return [
    Buffer.from(looseTape(file)).toString('latin1'),
    readFileSync(file, 'latin1'),
    ...[...eventLines(tape)].map((line) => JSON.stringify(line)),
    JSON.stringify(tape.details),
    JSON.stringify(tape.run),
    JSON.stringify(read),
    printed.join(''),
  ].join('\n')
}

const chat = (body: object): NewEvent =>
  ({
    type: 'request',
    seam: 'fetch',
    method: 'POST',
    url: 'https://api.openai.com/v1/chat/completions',
    headers: [['content-type', 'application/json']],
    ...body,
  }) as NewEvent

test('a value in any field of any event is nowhere on the redacted tape', () => {
  const word = fc.stringMatching(/^[a-z]{5,9}$/)
  fc.assert(
    fc.property(word, word, fc.nat(12), (user, host, cut) => {
      const secret = `${user}@${host}.example`
      const json = JSON.stringify({
        model: 'm',
        messages: [{ role: 'user', content: `I am ${secret}` }],
      })
      const error = {
        class: 'Error',
        name: 'Error',
        message: secret,
        stack: `Error: ${secret}\n at x`,
        props: { [secret]: [secret] },
        cause: { class: 'Error', name: secret, message: '' },
      }
      const nested = JSON.stringify({
        arguments: JSON.stringify({ to: secret.replace('@', '\\u0040') }),
      })
      const { files } = redacted(
        [
          [
            {
              type: 'note',
              kind: 'mark',
              name: secret,
              site: `/home/${secret}/a.js:1:1`,
              text: secret,
            },
            secret,
          ],
          [{ type: 'draw', kind: 'crypto.randomUUID', value: secret }],
          [{ type: 'draw', kind: 'os.userInfo', value: { [secret]: { v: [secret] } } }],
          [
            chat({
              url: `https://api.openai.com/v1/chat/completions?u=${encodeURIComponent(secret)}`,
              headers: [['x-user', secret]],
              within: [{ kind: 'agent', name: secret }],
            }),
            json,
          ],
          [
            {
              type: 'response',
              op: 4,
              status: 200,
              statusText: secret,
              headers: [['set-user', secret]],
              url: secret,
            },
          ],
          [{ type: 'deliver', op: 4, part: 'chunk' }, nested.slice(0, cut)],
          [{ type: 'deliver', op: 4, part: 'chunk' }, nested.slice(cut)],
          [{ type: 'deliver', op: 4, part: 'end', error, value: secret, digest: secret }],
          [
            { type: 'call', kind: 'tool', name: secret, title: secret, as: 'json' },
            JSON.stringify([{ to: secret }]),
          ],
          [
            { type: 'result', op: 9, as: 'json', error },
            JSON.stringify({ $: 'Map', v: [[secret, secret]] }),
          ],
          [{ type: 'call', kind: 'tool', name: 't', as: 'text' }, secret],
          [
            { type: 'result', op: 11, as: 'bytes' },
            Buffer.concat([Buffer.from([0xff, 0]), Buffer.from(secret)]),
          ],
          [{ type: 'socket', kind: 'tcp', host: secret, path: secret }],
          [{ type: 'output', stream: 'stdout' }, `${'x'.repeat(3)} ${secret.slice(0, cut)}`],
          [{ type: 'output', stream: 'stderr' }, secret],
          [{ type: 'output', stream: 'stdout' }, secret.slice(cut)],
          [{ type: 'end', exitCode: 1, error, as: 'json' }, JSON.stringify(secret)],
        ],
        'email',
        {
          name: secret,
          details: {
            env: { [secret]: secret },
            args: [secret],
            cwd: secret,
            branch: { kind: 'fork', edits: [{ target: 'answer', value: secret }] },
          },
        },
      )
      const everything = everythingOf(files[0] ?? '')
      expect(everything).not.toContain(secret)
      expect(everything).not.toContain(encodeURIComponent(secret))
      expect(everything).not.toContain(secret.replace('@', String.raw`\u0040`))
      // It could be guessed with.
      expect(everything).not.toContain('"digest"')
      expect(openTape(files[0] ?? '').verify().ok).toBe(true)
    }),
    { numRuns: 30 },
  )
})

test('bytes inside a value, as of a process that was waited for, are read and masked', () => {
  const secret = ['ann', 'example.org'].join('@')
  const value = { status: 0, stdout: Buffer.from(`to ${secret}\n`), parts: [Buffer.from('x')] }
  const { files } = redacted(
    [
      [{ type: 'draw', kind: 'x', value: toWire(Buffer.from(secret)) }],
      [{ type: 'call', kind: 'process', name: 'spawnSync', as: 'json', sync: true }, '[]'],
      [{ type: 'result', op: 2, as: 'json' }, JSON.stringify(toWire(value))],
    ],
    'email',
  )
  const result = viewRun(openTape(files[0] ?? ''))
    .step(1)
    ?.call()?.result as { stdout: Uint8Array; parts: Uint8Array[] }
  expect(Buffer.from(result.stdout).toString()).toBe(`to ${'*'.repeat(secret.length)}\n`)
  expect(Buffer.from(result.parts[0] ?? []).toString()).toBe('x')
  for (const bytes of [`to ${secret}\n`, secret])
    expect(everythingOf(files[0] ?? '')).not.toContain(
      Buffer.from(bytes).toString('base64').replaceAll('=', ''),
    )
})

test('a value that was read from a file, or written to one, in two pieces is found', () => {
  const [head, tail] = ['to ann@exam', 'ple.org, bye']
  const call = { type: 'call', kind: 'file', title: 'a.txt' } as const
  const { files } = redacted(
    [
      [{ ...call, name: 'fs.write', as: 'bytes' }, head],
      [{ ...call, name: 'fs.write', as: 'bytes' }, tail],
      [{ ...call, name: 'fs.read', as: 'json' }, '[11]'],
      [{ type: 'result', op: 3, as: 'bytes' }, head],
      [{ ...call, name: 'fs.read', as: 'json' }, '[11]'],
      [{ type: 'result', op: 5, as: 'bytes' }, tail],
    ],
    'email',
  )
  expect(everythingOf(files[0] ?? '')).not.toMatch(/ann|exam|ple\.org/)
})

test('lengths are preserved, so HTTP framing stays valid', () => {
  const body = JSON.stringify({ to: 'jörg@example.org', card: 4111111111111111, n: 5 })
  const { source, files } = redacted([[chat({}), body]], /j.rg@example\.org|4111111111111111/)
  expect(openTape(files[0] ?? '').bodySize(1)).toBe(openTape(source).bodySize(1))
  const text = Buffer.from(openTape(files[0] ?? '').body(1)).toString()
  expect(JSON.parse(text)).toEqual({ to: '*'.repeat(17), card: null, n: 5 })
})

test('a value that is spread over the deltas of a stream is taken out with the texts of the answer', () => {
  const deltas = ['It is an', 'n@exam', 'ple.org', ', I think']
  const lines = deltas.map(
    (content) =>
      `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta: { content } }] })}\n\n`,
  )
  const { source, files, blanked } = redacted(
    [
      [chat({}), '{"model":"m","stream":true,"messages":[]}'],
      [
        {
          type: 'response',
          op: 1,
          status: 200,
          statusText: 'OK',
          headers: [['content-type', 'text/event-stream']],
        },
      ],
      ...lines.map((line) => [{ type: 'deliver', op: 1, part: 'chunk' }, line] as const),
      [{ type: 'deliver', op: 1, part: 'end' }],
    ],
    'email',
  )
  expect(JSON.stringify(viewRun(openTape(source)).step(1)?.exchange()?.answer)).toContain(
    'ann@example.org',
  )
  expect(everythingOf(files[0] ?? '')).not.toMatch(/ann|n@exam|ple\.org/)
  expect(
    JSON.stringify(
      viewRun(openTape(files[0] ?? ''))
        .step(1)
        ?.exchange()?.answer,
    ),
  ).toContain('****')
  expect(blanked).toEqual(['1'])
})

test.each([...TEXT_MEMBERS, 'output', 'value'])(
  'the text of a member %s is hidden, and the rest of the answer stays',
  (name) => {
    const { source } = redacted(
      [
        [chat({}), '{}'],
        [{ type: 'response', op: 1, status: 200, statusText: 'OK', headers: [] }],
        [{ type: 'deliver', op: 1, part: 'chunk' }, JSON.stringify({ id: 'a', [name]: 'Hello' })],
        [{ type: 'deliver', op: 1, part: 'end' }],
      ],
      'email',
    )
    const tape = openTape(source)
    const [step] = viewRun(tape).steps
    const changed = step && blankAnswer(tape, step, 'texts', new Mask([]))
    expect(String(changed?.get(3))).toBe(JSON.stringify({ id: 'a', [name]: '*****' }))
  },
)

test.each([
  [
    'in chunks of HTTP',
    '3\r\nann\r\nc\r\n@example.org\r\n0\r\n\r\n',
    'transfer-encoding: chunked',
    [],
  ],
  ['compressed', gzipSync('to ann@example.org'), 'content-encoding: gzip', ['1']],
])(
  'an answer on a socket that contains a value %s keeps its head and loses the value',
  (_, body, header, taken) => {
    const length = typeof body === 'string' ? '' : `content-length: ${body.length}\r\n`
    const head = `HTTP/1.1 200 OK\r\n${length}${header}\r\n\r\n`
    const { source, files, blanked } = redacted(
      [
        [{ type: 'socket', kind: 'tcp', host: 'h', port: 80 }],
        [
          {
            type: 'request',
            seam: 'http',
            method: 'GET',
            url: 'http://h/',
            headers: [],
            socket: 1,
          },
        ],
        [
          { type: 'deliver', op: 1, part: 'chunk' },
          Buffer.concat([Buffer.from(head), Buffer.from(body)]),
        ],
        [{ type: 'deliver', op: 1, part: 'end' }],
      ],
      'email',
    )
    expect(viewRun(openTape(source)).step(1)?.exchange()?.response?.text).toContain(
      'ann@example.org',
    )
    const response = viewRun(openTape(files[0] ?? ''))
      .step(1)
      ?.exchange()?.response
    expect(response).toMatchObject({ status: 200, complete: true })
    expect(everythingOf(files[0] ?? '')).not.toContain('ann')
    expect(Buffer.from(response?.body ?? []).toString('latin1')).toMatch(/^\*+$/)
    expect(blanked).toEqual(taken)
  },
)
