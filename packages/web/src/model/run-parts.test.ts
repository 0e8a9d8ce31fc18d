import { encodeBody } from '@retake/tape'
import { describe, expect, test } from 'vitest'
import { CHAT, RunScript } from '../../test-support/run-script.js'

describe('files', () => {
  test('say what was done, whether it worked and how much it was', () => {
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
  test('are told in words', () => {
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
      'deliver chunk 312 B of 1',
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

  test('are had whole, their bodies clipped', () => {
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
