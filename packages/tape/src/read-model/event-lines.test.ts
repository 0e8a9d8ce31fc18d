import { expect, test } from 'vitest'
import { EventScript } from '../../test-support/event-script.js'
import { eventLines } from './event-lines.js'

test('every event is one object, with its body in the most readable form', () => {
  const tape = new EventScript()
  const op = tape.request('https://shop.test/', { a: 1 })
  tape.chunk(op, new Uint8Array([0xff, 0xfe]))
  tape.chunk(op, 'text ☃')
  const tool = tape.tool('lookup', {
    at: new Date(0),
    big: 12n,
    none: undefined,
    list: new Set([1]),
    raw: new Uint8Array([1]),
    $: 'own',
  })
  tape.result(tool, 'plain text')
  tape.end()
  const lines = [...eventLines(tape)]
  expect(lines.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect(lines[1]).toMatchObject({ type: 'request', url: 'https://shop.test/', body: '{"a":1}' })
  expect(lines[2]?.body).toEqual({ base64: '//4=' })
  expect(lines[3]?.body).toBe('text ☃')
  expect(lines[4]?.body).toEqual({
    at: '1970-01-01T00:00:00.000Z',
    big: '12',
    none: null,
    list: [1],
    raw: { base64: 'AQ==' },
    $: 'own',
  })
  expect(lines[5]).toMatchObject({ type: 'result', body: 'plain text' })
  expect('body' in lines[6]!).toBe(false)
  expect(() => lines.map((line) => JSON.stringify(line))).not.toThrow()
})
