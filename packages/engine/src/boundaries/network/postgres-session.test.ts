import { EventEmitter } from 'node:events'
import type net from 'node:net'
import { expect, test } from 'vitest'
import { PostgresSession } from './postgres-session.js'

const message = (type: string, content = ''): Buffer => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(Buffer.byteLength(content) + 4)
  return Buffer.concat([Buffer.from(type), length, Buffer.from(content)])
}
const query = (text: string): Buffer => message('Q', `${text}\0`)
const ready = (status = 'I'): Buffer => message('Z', status)
const startup = message('', '\0\x03\0\0user\0me\0\0')
const welcome = Buffer.concat([message('R', '\0\0\0\0'), message('S', 'a\0b\0'), ready()])

/** A session that has signed in without a password and made these queries. */
function sessionAfter(...queries: readonly (string | readonly [text: string, status: string])[]) {
  const session = new PostgresSession(() => [])
  session.written(startup)
  session.served(welcome)
  for (const each of queries) {
    const [text, status] = typeof each === 'string' ? [each, 'I'] : each
    session.written(query(text))
    session.served(ready(status))
  }
  return session
}

/** The messages that set up a new connection before the agent uses it. */
async function sentBy(session: PostgresSession): Promise<string[]> {
  const sent: string[] = []
  await new Promise<void>((resolve) => {
    const real = Object.assign(new EventEmitter(), {
      write: (bytes: Buffer) => {
        sent.push(bytes.toString('latin1'))
        const answer = sent.length === 1 ? welcome : ready()
        setImmediate(() => real.emit('data', answer))
      },
    })
    session.signIn(
      real as unknown as net.Socket,
      () => resolve(),
      () => {},
    )
  })
  return sent
}

test('an idle session continues, one in a query or a transaction does not', () => {
  expect(sessionAfter('select 1').obstacleAfter([])).toBeUndefined()
  expect(sessionAfter(['begin', 'T']).obstacleAfter([])).toBe('a transaction was open')
  expect(sessionAfter(['begin', 'T'], 'commit').obstacleAfter([])).toBeUndefined()
  const session = sessionAfter()
  session.written(query('select 1'))
  expect(session.obstacleAfter([])).toBe('a query was in progress')
  expect(session.obstacleAfter([message('D', 'row'), ready()])).toBeUndefined()
  const copying = sessionAfter()
  copying.written(Buffer.concat([query('copy t from stdin'), message('d', '1'), message('c')]))
  expect(copying.obstacleAfter([])).toBe('a query was in progress')
  expect(copying.obstacleAfter([ready()])).toBeUndefined()
  const reading = sessionAfter()
  reading.written(Buffer.concat([message('P', '\0select 1\0\0\0'), message('H')]))
  reading.served(message('1'))
  expect(reading.obstacleAfter([])).toBe('a query was in progress')
  const early = new PostgresSession(() => [])
  early.written(startup)
  expect(early.isKnown).toBe(true)
  expect(early.obstacleAfter([])).toBe('the sign-in was not complete')
})

test('messages may be cut into pieces, and other protocols are not mistaken for PostgreSQL', () => {
  const session = new PostgresSession(() => [])
  for (const byte of Buffer.concat([startup, query('set a to 1')])) session.written(Buffer.of(byte))
  for (const byte of Buffer.concat([welcome, ready()])) session.served(Buffer.of(byte))
  expect(session.obstacleAfter([])).toBeUndefined()
  const redis = new PostgresSession(() => [])
  redis.written(Buffer.from('*1\r\n$4\r\nPING\r\n'))
  expect(redis.isKnown).toBe(false)
})

test.each([
  ['select 1', undefined],
  ['set local role x', undefined],
  ["select set_config('a', '1', true)", undefined],
  ["insert into t values ('a; set b to 1 -- listen')", undefined],
  ['create temporary table x (i int)', 'it has temporary tables'],
  ['select 1 as n into temp x', 'it has temporary tables'],
  ['select pg_try_advisory_lock(1)', 'it has advisory locks'],
  ['declare c cursor with hold for select 1', 'it has an open cursor'],
  ['set a to 1; insert into t values (1)', 'a setting was changed together with other statements'],
  ["select set_config('a', f(), false)", 'a setting was changed together with other statements'],
])('%s leaves %s in its session', async (text, obstacle) => {
  expect(sessionAfter(text).obstacleAfter([])).toBe(obstacle)
  expect(await sentBy(sessionAfter(text))).toEqual([startup.toString('latin1')])
})

test('settings, subscriptions and prepared statements are repeated, failed ones are not', async () => {
  const session = sessionAfter(
    "set search_path to 'a;b'; show timezone",
    '/* x */ LISTEN news',
    "select set_config('a', '1', false)",
  )
  expect(session.isListening).toBe(true)
  session.written(query('set wrong to 1'))
  session.served(Buffer.concat([message('E', 'Mno\0'), ready()]))
  const parse = (name: string): Buffer => message('P', `${name}\0select 1\0\0\0`)
  const [parsed, closed] = [message('1'), message('3')]
  session.written(Buffer.concat([...['one', 'two', ''].map(parse), message('C', 'Sone\0')]))
  session.written(message('S'))
  session.served(Buffer.concat([parsed, parsed, parsed, closed, ready()]))
  session.written(Buffer.concat([message('C', 'Stwo\0'), message('S')]))
  session.served(Buffer.concat([closed, ready()]))
  // Executed with an error, which leaves the statement prepared.
  session.written(Buffer.concat([parse('three'), message('E', '\0\0\0\0\0'), message('S')]))
  session.served(Buffer.concat([parsed, message('E', 'Mno\0'), ready()]))
  session.written(Buffer.concat([parse('wrong'), message('S')]))
  session.served(Buffer.concat([message('E', 'Mno\0'), ready()]))
  expect(await sentBy(session)).toEqual(
    [
      startup,
      query("set search_path to 'a;b'; show timezone"),
      query('/* x */ LISTEN news'),
      query("select set_config('a', '1', false)"),
      Buffer.concat([parse('three'), message('S')]),
    ].map((bytes) => bytes.toString('latin1')),
  )
})
