import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { guard } from 'retake'
import { expect, onTestFinished, test } from 'vitest'
import type { Workspace } from '../support/run-retake.mjs'
import { isSoak } from '../support/soak.js'
import { spansIn } from '../support/spans-in.js'
import { projectWith } from './fix-project.js'
import { cli, folderWith } from './workspace.js'

/** A workspace with a run of two tool calls, one of which fails. */
async function withRun(): Promise<Workspace> {
  const workspace = await folderWith({})
  const run = guard({
    name: 'shop',
    dir: join(workspace.folder, '.retake', 'runs'),
    policy: { name: 'shop', rules: [] },
  })
  run.tool('lookup', ({ id }: { id: number }) => ({ id, total: 20 }))
  run.tool('refund', () => {
    throw new Error('the bank is closed')
  })
  await run.call('lookup', { id: 1182 })
  await run.call('refund', {})
  run.end()
  return workspace
}

const FOLDER = ['--dir', 'imported']

test('an exported run is listed, shown and exported unchanged after an import', async () => {
  const { folder, retake } = await withRun()
  for (const format of ['otlp-json', 'otlp-protobuf']) {
    const dir = ['--dir', `from-${format}`]
    const out = await retake(['export', 'last', '--format', format, '--content', '-o', 'run.otlp'])
    expect(out.stdout).toContain('wrote run.otlp')
    const { stdout } = await retake(['import', 'run.otlp', ...dir])
    expect(stdout).toMatch(/^imported \S+ · 3 spans · not replayable$/m)
    expect((await retake(['import', 'run.otlp', ...dir])).stdout).toContain('imported before')
    expect((await retake(['list', ...dir])).stdout).toContain('shop (imported)')
    const shown = (await retake(['show', 'last', ...dir])).stdout
    expect(shown).toContain('imported from otlp, run.otlp: 3 spans, not replayable')
    expect(shown).toMatch(/1 .* tool +lookup\(\{"id":1182\}\)/)
    expect(shown).toMatch(/2 .* tool +failed: refund/)
    await retake([
      'export',
      'last',
      '--format',
      'otlp-json',
      '--content',
      '-o',
      'again.json',
      ...dir,
    ])
    await retake(['export', 'last', '--format', 'otlp-json', '--content', '-o', 'first.json'])
    expect(spansIn(join(folder, 'again.json'))).toEqual(spansIn(join(folder, 'first.json')))
  }
})

test('no content is exported unless requested', async () => {
  const { retake } = await withRun()
  const plain = await retake(['export', 'last', '--format', 'otlp-json'])
  expect(plain.stdout).not.toContain('1182')
  const whole = await retake(['export', 'last', '--format', 'otlp-json', '--content'])
  expect(whole.stdout).toContain('1182')
})

// test/cli/imported-runs.test.ts has the commands that refuse an imported run.
test('a test of an imported run is a skeleton', async () => {
  const { retake, folder } = await withRun()
  await retake(['export', 'last', '--format', 'otlp-json', '-o', 'run.json'])
  await retake(['import', 'run.json', ...FOLDER])
  const made = await retake([
    'test',
    'last',
    '--runner',
    'node',
    '--out',
    'shop.test.mjs',
    ...FOLDER,
  ])
  expect(made.code).toBe(0)
  const text = readFileSync(join(folder, 'shop.test.mjs'), 'utf8')
  expect(text).toContain('test.skip("shop"')
  expect(text).toContain('"name": "lookup"')
})

/** A receiver that gives each answer once, and the last one from then on. */
async function receiver(...answers: readonly number[]) {
  const bodies: Buffer[] = []
  const headers: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const status = answers[Math.min(bodies.length, answers.length - 1)] ?? 200
      bodies.push(Buffer.concat(chunks))
      headers.push(request.headers)
      response.writeHead(status, { 'content-type': 'text/plain' }).end(status === 200 ? '' : 'busy')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies, headers }
}

test('a busy receiver gets the same bytes again', async () => {
  const { retake } = await withRun()
  const { url, bodies } = await receiver(503, 200)
  const { stdout, stderr, code } = await retake(['export', 'last', '--endpoint', url])
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^sent 3 spans of \S+ to \S+\/v1\/traces$/m),
  ])
  expect(stderr).toContain('trying again: The receiver answered 503: busy')
  expect(bodies).toHaveLength(2)
  expect(bodies[0]).toEqual(bodies[1])
})

test('a receiver that is down or refuses fails the export, and says what was accepted', async () => {
  const { retake } = await withRun()
  const down = await retake([
    'export',
    'last',
    '--endpoint',
    'http://127.0.0.1:9',
    '--timeout',
    '0.2',
  ])
  expect([down.code, down.stderr]).toEqual([1, expect.stringContaining('No span was accepted')])
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const waited = await retake(['export', 'last', '--endpoint', silentUrl, '--timeout', '1'])
  expect([waited.code, waited.stderr]).toEqual([1, expect.stringContaining('No answer within 1 s')])
  const { url, bodies } = await receiver(400)
  const refused = await retake(['export', 'last', '--endpoint', url, '--json'])
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('EXPORT_FAILED')])
  expect(bodies).toHaveLength(1)
})

test('a custom receiver accepts what an export sends', async () => {
  const { retake, folder } = await withRun()
  const child = spawn(process.execPath, [cli, 'import', '--listen=0', '--json', ...FOLDER], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  const [line] = (await once(child.stderr, 'data')) as [Buffer]
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line.toString())?.[0] ?? ''
  for (const format of ['otlp-json', 'otlp-protobuf'])
    expect((await retake(['export', 'last', '--endpoint', url, '--format', format])).code).toBe(0)
  const closed = once(child, 'close')
  child.kill('SIGINT')
  await closed
  expect(JSON.parse(stdout.trim().split('\n')[0] ?? '')).toMatchObject({ spans: 3 })
  expect((await retake(['show', 'last', ...FOLDER])).stdout).toContain('imported from otlp')
})

test('a trace of Langfuse is downloaded by its id, with the keys of the project', async () => {
  const { retake } = await folderWith({})
  const [user, password] = ['pk-lf-test', 'sk-lf-test']
  const expected = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  const trace = {
    id: 'trace/7',
    name: 'refund',
    timestamp: '2026-11-15T10:00:00.000Z',
    tags: ['a'],
    observations: [
      {
        id: 'o1',
        traceId: 'trace/7',
        type: 'TOOL',
        name: 'lookup',
        startTime: '2026-11-15T10:00:03.000Z',
        endTime: '2026-11-15T10:00:04.000Z',
        input: { id: 7 },
        output: { found: true },
      },
    ],
  }
  const server = createServer((request, response) => {
    const isAllowed = request.headers.authorization === expected
    const isKnown = request.url === '/api/public/traces/trace%2F7'
    response.writeHead(isAllowed ? (isKnown ? 200 : 404) : 401)
    response.end(isAllowed && isKnown ? JSON.stringify(trace) : '{"message":"no"}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const env = {
    LANGFUSE_PUBLIC_KEY: user,
    LANGFUSE_SECRET_KEY: password,
    LANGFUSE_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  }
  const from = ['import', '--from', 'langfuse', '--trace']
  const found = await retake([...from, 'trace/7'], { env })
  expect([found.code, found.stdout]).toEqual([0, expect.stringMatching(/^imported \S+ · 2 spans/m)])
  const { stdout } = await retake(['show', 'last'])
  expect(stdout).toContain('imported from langfuse, 127.0.0.1:')
  expect(stdout).toContain('lookup({"id":7})')

  const missing = await retake([...from, 'other', '--json'], { env })
  expect(missing.stdout).toMatch(/IMPORT_DOWNLOAD_FAILED[^]*It answered 404/)
  const wrong = { ...env, LANGFUSE_SECRET_KEY: 'sk-lf-other' }
  const refused = await retake([...from, 'trace/7', '--json'], { env: wrong })
  expect(refused.stdout).toContain('It answered 401')
  expect(refused.stdout).not.toContain('sk-lf')
  const down = { ...env, LANGFUSE_BASE_URL: 'http://127.0.0.1:9' }
  expect((await retake([...from, 'trace/7', '--json'], { env: down })).stdout).toContain(
    'cannot be reached',
  )
  const keyless = { ...env, LANGFUSE_SECRET_KEY: '' }
  expect((await retake([...from, 'trace/7'], { env: keyless })).code).toBe(2)
})

test('files that cannot be imported are named, with the reason', async () => {
  const { retake, folder } = await withRun()
  writeFileSync(join(folder, 'notes.txt'), 'hello')
  writeFileSync(join(folder, 'blank.json'), '')
  writeFileSync(join(folder, 'empty.json'), '{"resourceSpans":[]}')
  writeFileSync(join(folder, 'cut.json'), '{"resourceSpans":[{"scopeSpans":[{"spans":[{"trace')
  for (const [file, said] of [
    ['notes.txt', 'IMPORT_FORMAT_UNKNOWN'],
    ['blank.json', 'It is empty.'],
    ['empty.json', 'NOTHING_IMPORTED'],
    ['cut.json', 'NOTHING_IMPORTED'],
    ['missing.json', 'IMPORT_UNREADABLE'],
  ] as const)
    expect((await retake(['import', file, '--json', ...FOLDER])).stdout).toContain(said)
})

test('commands send telemetry only if the environment enables it', async () => {
  const { retake } = await withRun()
  const { url, bodies, headers } = await receiver(200)
  expect((await retake(['list'])).stderr).toBe('')
  const logged = await retake(['list'], { env: { RETAKE_LOG: 'json' } })
  expect(
    logged.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object),
  ).toMatchObject([
    { event: 'start', verb: 'list' },
    { event: 'end', verb: 'list', exitCode: 0 },
  ])
  const env = {
    RETAKE_OTEL: '1',
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-team=a%20b, x-other=c=d',
  }
  await retake(['replay', 'missing-run'], { env })
  expect(headers).toMatchObject([{ 'x-team': 'a b', 'x-other': 'c=d' }])
  expect(bodies.map(String)).toEqual([expect.stringContaining('retake replay')])
  expect(String(bodies[0])).toContain('process.exit.code')
  // Arguments may be private.
  expect(String(bodies[0])).not.toContain('missing-run')
  await retake(['list'], { env })
  await retake(['replay', 'missing-run'], { env: { ...env, RETAKE_OTEL: '' } })
  expect(bodies).toHaveLength(1)
  const down = { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', RETAKE_LOG: 'json' }
  const unsent = await retake(['replay', 'missing-run'], { env: down })
  expect([unsent.code, unsent.stderr]).toEqual([1, expect.stringContaining('span not sent')])
})

test('record, replay, fork, blame and fix send one span each, and log their start and end', async () => {
  const { env, next, retake } = await projectWith([])
  const { url, bodies } = await receiver(200)
  Object.assign(env, { RETAKE_OTEL: '1', OTEL_EXPORTER_OTLP_ENDPOINT: url, RETAKE_LOG: 'json' })
  const commands = [
    ['record', 'agent.mjs', '1'],
    ['replay', 'last'],
    ['fork', 'last', '--at', '1'],
    ['record', 'agent.mjs', 'failing'],
    // These two run the agent many times.
    ...(isSoak
      ? [
          ['blame', 'last'],
          ['fix', 'last', '--no-ai'],
        ]
      : []),
  ]
  for (const [index, command] of commands.entries()) {
    const [verb = '', ...args] = command
    const fails = args.includes('failing')
    if (fails) next.push('Sorry: ```json\n{ "verdict": "pay" }\n```')
    const { code, stderr } = await retake(verb, ...args)
    const logged = stderr.split('\n').filter((line) => line.startsWith('{"time"'))
    expect(logged.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'info', event: 'start', verb },
      { level: 'info', event: 'end', verb, exitCode: code },
    ])
    expect(bodies, stderr).toHaveLength(index + 1)
    expect(String(bodies[index])).toContain(`retake ${verb}`)
    // This is in the status of a span if the command failed.
    // A fix of one run is not proven, so the command ends with another code than 0.
    expect([verb, String(bodies[index]).includes('exit code')]).toEqual([
      verb,
      fails || verb === 'fix',
    ])
  }
})
