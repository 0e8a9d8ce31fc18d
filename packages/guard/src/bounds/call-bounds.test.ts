import { expect, it } from 'vitest'
import { CallBounds } from './call-bounds.js'

const did = (...acts: ((bounds: CallBounds) => void)[]): boolean => {
  const bounds = new CallBounds('tool', [])
  bounds.beginAttempt()
  for (const act of acts) act(bounds)
  return bounds.didOneThing
}
const post = (url: string) => (bounds: CallBounds) => bounds.request('POST', new URL(url))
const connect = (host: string, port: number) => (bounds: CallBounds) =>
  bounds.host(host, port, true)

it('one request is one thing, also with the connection it is made over, and checked twice', () => {
  expect(did()).toBe(true)
  expect(did(post('http://a.test/x'))).toBe(true)
  expect(did(post('http://a.test/x'), connect('a.test', 80), post('http://a.test/x#part'))).toBe(
    true,
  )
  expect(did(connect('a.test', 443), post('https://a.test/x'))).toBe(true)
  expect(did(connect('a.test', 443), post('wss://a.test/x'))).toBe(true)
  const small = (bounds: CallBounds) => bounds.request('post', new URL('http://a.test/x'))
  expect(did(small, post('http://a.test/x'))).toBe(true)
  expect(did(connect('a.test', 6379))).toBe(true)
})

it('a second request, a connection elsewhere, a file or a process is more', () => {
  expect(did(post('http://a.test/x'), post('http://a.test/y'))).toBe(false)
  expect(did(post('http://a.test/x'), connect('a.test', 5432))).toBe(false)
  expect(did(connect('a.test', 1), connect('b.test', 1))).toBe(false)
  expect(did((bounds) => bounds.file('read', '/a'))).toBe(true)
  expect(did((bounds) => bounds.file('write', '/a'))).toBe(false)
  expect(did((bounds) => bounds.process({ file: 'ls', args: [], shell: false }))).toBe(false)
})

it('each attempt starts from zero', () => {
  const write = (bounds: CallBounds) => bounds.file('write', '/a')
  expect(did(write, post('http://a.test/x'), (bounds) => bounds.beginAttempt())).toBe(true)
})
