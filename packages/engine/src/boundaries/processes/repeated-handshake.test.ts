import { expect, test } from 'vitest'
import type { HandshakeMessage } from '../../kernel/session.js'
import { RepeatedHandshake } from './repeated-handshake.js'

const hello = { line: '{"id":0,"method":"initialize"}', id: 0 }
const ready = { line: '{"method":"notifications/initialized"}' }
const level = { line: '{"id":"1","method":"logging/setLevel"}', id: '1' }

function begin(...messages: HandshakeMessage[]) {
  const written: string[] = []
  const rests: string[] = []
  const handshake = new RepeatedHandshake(
    messages,
    (line) => written.push(line.trimEnd()),
    (rest) => rests.push(rest.toString()),
  )
  handshake.begin()
  return { handshake, written, rests, take: (text: string) => handshake.take(Buffer.from(text)) }
}

test('each message waits for the previous answer', () => {
  const { written, rests, take } = begin(hello, ready, level)
  expect(written).toEqual([hello.line])
  take('{"id":0,"result":{}}\n')
  expect(written).toEqual([hello.line, ready.line, level.line])
  expect(rests).toEqual([])
  take('{"id":"1","result":{}}\n')
  expect(rests).toEqual([''])
})

test('output during the handshake is hidden, later output is not', () => {
  const { rests, take } = begin(hello, ready)
  expect(take('starting…\n{"id":0,"met')).toBe(true)
  expect(take('hod":"ping"}\n{"id":"0","result":{}}\n')).toBe(true)
  expect(rests).toEqual([])
  expect(take('{"id":0,"result":{}}\n{"method":"notif')).toBe(true)
  expect(rests).toEqual(['{"method":"notif'])
  expect(take('ications/message"}\n')).toBe(false)
})

test('without messages it ends immediately', () => {
  const { written, rests, take } = begin()
  expect([written, rests, take('x')]).toEqual([[], [''], false])
})
