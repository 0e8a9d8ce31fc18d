import { gzipSync } from 'node:zlib'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { messageText, type RunDetails } from '@retake/tape'
import { openTape, TapeWriter } from '@retake/tape/node'
import { readOutcome } from '@retake/runner/oracle'
import { viewRun } from '@retake/runner/runs'
import { expect, onTestFinished, test } from 'vitest'
import { RunScript, user } from '../../../tape/test-support/run-script.js'
import { proposeProbes, proposeTapeForms, writeAnswerProbe, writeValueProbe } from './probe-tape.js'

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'retake-probes-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** Writes a run as a sealed tape. */
function taped(run: RunScript, details: RunDetails = {}) {
  const file = path.join(folder(), `${run.run.id}.tape`)
  const { seq: _seq, at: _at, format: _format, ...record } = run.run
  const writer = TapeWriter.create(file, record, details)
  for (const { seq, at: _, ...event } of run.events(1)) writer.append(event, run.body(seq))
  writer.seal()
  return openTape(file)
}

const failure = (name: string, message: string) => ({ class: name, name, message })

const context = {
  sources: [{ path: 'agent.mjs', text: 'console.log(lookup(process.argv[2]))' }],
  data: new Set<string>(),
  oracle: 'exit:0',
  judgesOutput: false,
}

const changed = (run: RunScript, from: string, to: string, details?: RunDetails) => {
  const probe = { id: 'p', kind: 'values', isWords: false, changes: [{ from, to }] } as const
  return writeValueProbe(taped(run, details), probe, folder())
}

test('a value is changed in everything that the run was given, got, sent and printed', () => {
  const run = new RunScript()
    .streamedChat([user('Look up c9')], ['Customer c', '9 is late: "c9"'])
    .exchange('https://crm.example.com/customers/c9?id=c9', '{"id":"c9"}', [
      '{"id":"c',
      '9","n":1}',
    ])
    .tool('lookup', { id: 'c9' }, { id: 'c9', note: 'first\nc9' })
    .file('/data/c9.json', '{"id":"c9"}')
    .print('c9 is late\n')
  run.add({ type: 'end', exitCode: 1, error: failure('TypeError', 'no c9') })
  const copy = changed(run, 'c9', 'c4', { args: ['c9'], cwd: '/app' })!
  expect(copy.verify().problem).toBeUndefined()
  expect(copy.status).toBe('sealed')
  expect(copy.details.args).toEqual(['c4'])
  const [model, http, tool] = viewRun(copy).recordedSteps
  expect(model?.answer().map(messageText)).toEqual(['Customer c4 is late: "c4"'])
  expect(model?.exchange()?.request.text).toContain('Look up c4')
  expect(http?.exchange()?.request).toMatchObject({
    url: 'https://crm.example.com/customers/c4?id=c4',
    json: { id: 'c4' },
  })
  expect(http?.exchange()?.response?.json).toEqual({ id: 'c4', n: 1 })
  expect(tool?.call()).toMatchObject({ args: { id: 'c4' }, result: { note: 'first\nc4' } })
  expect(readOutcome(copy)).toMatchObject({ stdout: 'c4 is late\n', error: { message: 'no c4' } })
})

test('a value that also occurs in a form that cannot be changed gives no variant', () => {
  const url = 'https://crm.example.com/customers'
  const plain = () => new RunScript().exchange(url, '{"id":"c9"}', ['{}']).end(1)
  expect(changed(plain(), 'c9', 'c4')).toBeDefined()
  const encoded = Buffer.from('customer c9 of this shop').toString('base64')
  expect(
    changed(new RunScript().exchange(url, '{}', [`{"data":"${encoded}"}`]).end(1), 'c9', 'c4'),
  ).toBeUndefined()
  const compressed = new RunScript()
  const op = compressed.add({ type: 'request', seam: 'fetch', method: 'GET', url, headers: [] })
  const headers = [
    ['content-type', 'application/json'],
    ['content-encoding', 'gzip'],
  ] as const
  compressed.add({ type: 'response', op, status: 200, statusText: 'OK', headers, encoded: true })
  compressed.add({ type: 'deliver', op, part: 'chunk' }, gzipSync('{"id":"c9"}'))
  compressed.add({ type: 'deliver', op, part: 'end' })
  expect(changed(compressed.end(1), 'c9', 'c4')).toBeUndefined()
})

test('an answer gets another list, and its length', () => {
  const run = new RunScript()
  const op = run.add({
    type: 'request',
    seam: 'fetch',
    method: 'GET',
    url: 'https://crm.example.com/orders',
    headers: [],
  })
  const body = '{"orders":[1,2]}'
  const headers = [
    ['content-type', 'application/json'],
    ['content-length', String(body.length)],
  ] as const
  run.add({ type: 'response', op, status: 200, statusText: 'OK', headers })
  run.add({ type: 'deliver', op, part: 'chunk' }, body)
  run.add({ type: 'deliver', op, part: 'end' })
  run.add({ type: 'end', exitCode: 1, error: failure('TypeError', 'x') })
  const tape = taped(run)
  const [reversed, longer] = proposeProbes(tape, context)
  expect([reversed?.changes, longer?.changes]).toEqual([
    [{ from: '[1,2]', to: '[2,1]' }],
    [{ from: '[1,2]', to: '[1,2,2]' }],
  ])
  const copy = writeAnswerProbe(tape, longer as never, folder())
  expect(copy.verify().problem).toBeUndefined()
  const { response } = viewRun(copy).recordedSteps[0]!.exchange()!
  expect(response?.json).toEqual({ orders: [1, 2, 2] })
  expect(response?.headers).toContainEqual(['content-length', '18'])
})

test('lists and numbers are only changed if the run ended with an error of the language', () => {
  const url = 'https://crm.example.com/orders'
  const failed = (error?: string) => {
    const run = new RunScript().exchange(url, '{}', ['{"orders":[1,2]}'])
    run.add({ type: 'end', exitCode: 1, ...(error && { error: failure(error, 'x') }) })
    return proposeProbes(taped(run), context).length
  }
  expect([failed('TypeError'), failed('Error'), failed()]).toEqual([9, 0, 0])
})

test('the spelling of an answer changes after any error, also if an oracle looks at the output', () => {
  const answer = JSON.stringify({ text: '```\n[1]\n```' })
  const changes = (error?: string) => {
    const run = new RunScript().exchange('https://crm.example.com/orders', '{}', [answer])
    run.add({ type: 'end', exitCode: 1, ...(error && { error: failure(error, 'x') }) })
    return proposeProbes(taped(run), { ...context, judgesOutput: true }).map(
      (probe) => probe.changes[0]?.to,
    )
  }
  expect(changes('Error')).toEqual(['"```json\\n[1]\\n```"', '"```JSON\\n[1]\\n```"'])
  expect(changes()).toEqual([])
})

test('a run that hides data, or whose oracle is a model, has no variants', () => {
  const run = () =>
    new RunScript().exchange('https://crm.example.com', '{"id":"c9"}', ['{}']).end(1)
  const details = { args: ['c9'] }
  expect(proposeProbes(taped(run(), details), context)).toHaveLength(2)
  expect(proposeProbes(taped(run(), details), { ...context, oracle: 'judge:polite?' })).toEqual([])
  expect(proposeProbes(taped(run(), { ...details, pseudonymKey: 'k' }), context)).toEqual([])
})

test('forms are of the last answers, and a run that hides data has none', () => {
  const run = () =>
    new RunScript().exchange('https://crm.example.com', '{}', ['{"delayMinutes":5}']).end(1)
  const tape = taped(run())
  const [form] = proposeTapeForms(tape, context)
  expect(form?.form.changes).toEqual([{ from: '{"delayMinutes":5}', to: '{"delay_minutes":5}' }])
  const copy = writeAnswerProbe(tape, form!.form, folder())
  const { response } = viewRun(copy).recordedSteps[0]!.exchange()!
  expect(response?.json).toEqual({ delay_minutes: 5 })
  expect(proposeTapeForms(taped(run(), { pseudonymKey: 'k' }), context)).toEqual([])
})
