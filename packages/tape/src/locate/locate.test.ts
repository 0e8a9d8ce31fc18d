import { describe, expect, test } from 'vitest'
import { asks, CHAT, RunScript, says, told, user } from '../../test-support/run-script.js'
import { locate } from '@retake/tape/locate'
import type { Occurrence } from '@retake/tape/locate'

const find = (script: RunScript, text: string) => locate(script, script.view(), text)

/** Occurrences in short: `in file policy.json policies[1].text`. */
const locations = (script: RunScript, text: string): string[] =>
  find(script, text).occurrences.map(short)
const short = ({ direction, source, name, path, offset }: Occurrence): string =>
  [direction, source, name, path ?? (offset === undefined ? '' : `@${offset}`)].join(' ').trim()

const policies = JSON.stringify({ policies: [{ text: 'Shipping' }, { text: 'Within 60 days.' }] })

describe('a value that goes through a run', () => {
  const call = { id: 'call_1', name: 'search_policy', args: { query: 'refund' } }
  const first = [user('How long can I return it?')]
  const second = [...first, asks(call), told(JSON.stringify({ text: 'Within 60 days.' }))]
  const script = (): RunScript =>
    new RunScript()
      .file('/shop/policy.json', policies)
      .chat(first, [call])
      .chat(second, 'You have 60 days.')
      .chat([...second, says('You have 60 days.'), user('Sure?')], 'Yes.')
      .print('You have 60 days.\n')
      .end()

  test('is followed from its file to the output', () => {
    expect(locations(script(), '60 days')).toEqual([
      'in file /shop/policy.json policies[1].text',
      'out request gpt-5-mini messages[2].content » text',
      'in answer gpt-5-mini choices[0].message.content',
      'out request gpt-5-mini messages[2].content » text',
      'out request gpt-5-mini messages[3].content',
      'out output stdout @9',
    ])
  })

  test('has an origin, steps, events, code locations and excerpts', () => {
    const { origins, occurrences } = find(script(), '60 days')
    expect(origins).toBe(1)
    expect(occurrences[0]).toMatchObject({
      seq: 2,
      direction: 'in',
      site: '/agent.ts:2:2',
      excerpt: { before: 'Within ', match: '60 days', after: '.' },
      count: 1,
    })
    expect(occurrences[1]).toMatchObject({ step: '2', via: { step: '1.1', tool: 'search_policy' } })
    expect(occurrences.at(-1)).toMatchObject({ after: '3' })
  })

  test('is marked where it is only history of the conversation', () => {
    const { occurrences } = find(script(), '60 days')
    expect(occurrences.map(({ carried }) => carried === true)).toEqual([
      false,
      false,
      false,
      true,
      false,
      false,
    ])
  })

  test('that the agent made itself has no origin', () => {
    expect(find(script(), 'How long').origins).toBe(0)
  })
})

describe('values in pieces', () => {
  test('streamed words are put together; the event that completes them is named', () => {
    const script = new RunScript()
      .streamedChat([user('?')], ['You have 6', '0 d', 'ays', ' left'])
      .end()
    const { occurrences } = find(script, '60 days')
    expect(occurrences).toMatchObject([
      { source: 'answer', path: 'choices[0].delta.content', seq: 5, step: '1' },
    ])
  })

  test('text in every event of a stream is not concatenated', () => {
    const script = new RunScript().streamedChat([user('?')], ['a', 'b']).end()
    expect(locations(script, '1chatcmpl')).toEqual([])
    expect(locations(script, 'chatcmpl-1')).toEqual(['in answer gpt-5-mini id'])
  })

  test('streams distinguished by an index are not mixed', () => {
    const event = (index: number, text: string): string =>
      `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index, delta: { text } })}\n\n`
    const pieces = [event(0, 'thirty '), event(1, '60 '), event(0, 'days'), event(1, 'weeks')]
    const script = new RunScript().exchange('https://x.test/s', '{}', pieces, 'text/event-stream')
    expect(locations(script.end(), '60 weeks')).toEqual([
      'in answer https://x.test/s content_block_delta.delta.text (index 1)',
    ])
    expect(locations(script, 'thirty 60')).toEqual([])
  })

  test('a body cut anywhere, in the middle of a character too', () => {
    const bytes = new TextEncoder().encode('plain: für 60 days')
    const pieces = [bytes.slice(0, 9), bytes.slice(9, 14), bytes.slice(14)]
    const script = new RunScript().exchange('https://x.test/t', 'q', pieces, 'text/plain').end()
    expect(find(script, 'für 60 days').occurrences).toMatchObject([{ offset: 7, seq: 5 }])
  })

  test('a file read bit by bit, what a process prints, what comes in on stdin, what is printed', () => {
    const script = new RunScript()
    const open = { kind: 'file', title: '/log' } as const
    script.call({ ...open, name: 'fs.open', result: 18 })
    script.call({ ...open, name: 'fs.read', args: [3], result: new TextEncoder().encode('ab') })
    script.call({ ...open, name: 'fs.read', args: [3], result: new TextEncoder().encode('cd') })
    const child = script.add({ type: 'call', kind: 'process', name: 'spawn', title: 'sh -c x' })
    script.add({ type: 'deliver', op: child, part: 'chunk', pipe: 1 }, 'xab')
    script.add({ type: 'deliver', op: child, part: 'chunk', pipe: 2 }, 'cd')
    script.add({ type: 'deliver', op: child, part: 'chunk', pipe: 1 }, 'cd')
    const stdin = script.add({ type: 'call', kind: 'input', name: 'stdin' })
    script.add({ type: 'deliver', op: stdin, part: 'chunk' }, 'yyab')
    script.add({ type: 'deliver', op: stdin, part: 'chunk' }, 'cd')
    script.print('zzza').print('bcd\n').end()
    expect(locations(script, 'abcd')).toEqual([
      'in file /log @0',
      'in process sh -c x @1',
      'in input stdin @2',
      'out output stdout @3',
    ])
  })

  test('bytes inside a value are read as text', () => {
    const result = { status: 0, stdout: Buffer.from('given 60 days\n'), stderr: Buffer.from([255]) }
    const script = new RunScript().call({
      kind: 'process',
      name: 'spawnSync',
      title: 'cat',
      result,
    })
    expect(locations(script.end(), '60 days')).toEqual(['in process cat stdout'])
  })

  test('bytes of a connection that is not HTTP', () => {
    const script = new RunScript()
    const socket = script.add({ type: 'socket', kind: 'tcp', host: 'db', port: 5432 })
    script.add({ type: 'deliver', op: socket, part: 'chunk' }, new Uint8Array([0, 255, 54, 48]))
    script.add({ type: 'deliver', op: socket, part: 'chunk' }, new Uint8Array([32, 100, 0, 200]))
    expect(find(script.end(), '60 d').occurrences).toMatchObject([
      { source: 'connection', name: 'db:5432', offset: 2, seq: 3, excerpt: { match: '60 d' } },
    ])
  })
})

describe('values as JSON writes them', () => {
  test('line breaks, quotes and letters that are escaped', () => {
    const text = 'say "für"\nnow'
    const ascii = JSON.stringify({ text }).replace('ü', '\\u00fc')
    const script = new RunScript()
      .exchange('https://x.test/a', ascii, ['{}'])
      .tool('note', { text }, 'ok')
      .print(`log ${JSON.stringify(text)}\n`)
      .print(`log ${JSON.stringify(JSON.stringify({ text }))}\n`)
      .print('log say \\"f\\u00fcr\\"\\nnow', 'stderr')
      .end()
    expect(locations(script, text)).toEqual([
      'out request https://x.test/a text',
      'out tool note args.text',
      'out output stdout @5',
      'out output stderr @4',
    ])
  })

  test('a text that was copied with its escapes', () => {
    const script = new RunScript().tool('note', { text: 'one\ntwo "für"' }, null).end()
    expect(locations(script, 'one\\ntwo \\"f\\u00fcr')).toEqual(['out tool note args.text'])
  })

  test('JSON inside JSON inside JSON', () => {
    const inner = JSON.stringify({ note: 'two\nlines' })
    const script = new RunScript().tool('save', { body: JSON.stringify({ inner }) }, null).end()
    expect(locations(script, 'two\nlines')).toEqual(['out tool save args.body » inner » note'])
  })

  test('keys count too', () => {
    const script = new RunScript().tool('t', { prices: { 'sku 60': 1 } }, null).end()
    expect(locations(script, 'sku 60')).toEqual(['out tool t args.prices["sku 60"] (the key)'])
  })

  test('text in a URL is found as it reads', () => {
    const script = new RunScript().exchange('https://x.test/?q=60%20days+left', '', ['{}']).end()
    expect(locations(script, '60 days left')).toEqual([
      'out request https://x.test/?q=60%20days+left url',
    ])
  })
})

describe('numbers', () => {
  const script = (): RunScript =>
    new RunScript()
      .tool('price', { id: 1182 }, { price: 249, other: 2490, text: 'EUR249 or 12490' })
      .print('total 249.5, 1249, 249\n')
      .end()

  test('are found as numbers and in text, as whole numbers', () => {
    expect(locations(script(), '249')).toEqual([
      'in tool price result.price',
      'in tool price result.text',
      'out output stdout @19',
    ])
    expect(find(script(), '249').occurrences.at(-1)?.count).toBe(1)
    expect(locations(script(), '49')).toEqual([])
  })

  test('are distinguished from strings with the same digits', () => {
    const script = new RunScript()
      .tool('price', {}, { price: '4.90', text: 'costs 4.90\nplus tax', inner: '{"price":"4.90"}' })
      .tool('price', {}, { price: 4.9 })
      .print('costs 4.90\n')
    const types = (text: string) =>
      find(script, text).occurrences.map(
        ({ path = 'output', inString }) => `${path} ${inString === true}`,
      )
    expect(types('4.90')).toEqual([
      'result.price true',
      'result.text false',
      'result.inner » price true',
      'result.price false',
      'output false',
    ])
  })

  test('are the same number however they are written', () => {
    expect(locations(script(), '249.0')).toEqual(['in tool price result.price'])
    expect(locations(script(), '1182')).toEqual(['out tool price args.id'])
  })
})

describe('values outside steps', () => {
  test('draws, variables and arguments bring values in', () => {
    const script = new RunScript().draw('crypto.randomUUID', 'abc-123').end()
    script.details = { env: { SHOP: 'north-west' }, args: ['order 1182'] }
    expect(locations(script, 'abc-123')).toEqual(['in draw crypto.randomUUID'])
    expect(locations(script, 'north-west')).toEqual(['in environment SHOP'])
    expect(locations(script, '1182')).toEqual(['in arguments the command line args[0]'])
  })

  test('written files, paths and marks take them out; errors bring them in', () => {
    const script = new RunScript()
    script.call({ kind: 'file', name: 'fs.writeFile', title: '/out/a', args: 'code 77' })
    script.call({ kind: 'file', name: 'fs.stat', title: '/data/77' })
    const read = script.add({ type: 'call', kind: 'file', name: 'fs.readFile', title: '/x' })
    const error = { class: 'Error', name: 'Error', message: 'no 77 here' }
    script.add({ type: 'result', op: read, error })
    script.add({ type: 'note', kind: 'mark', name: 'point', text: 'at 77' })
    expect(locations(script.end(), '77')).toEqual([
      'out file /out/a @5',
      'out file /data/77 path',
      'in file /x error.message',
      'out mark point',
    ])
  })
})

test('a text inside a binary body is found by its offset', () => {
  const bytes = new Uint8Array([255, 0, ...new TextEncoder().encode('naïve 60'), 254])
  const script = new RunScript().exchange(CHAT, bytes, [bytes], 'application/octet-stream').end()
  expect(locations(script, 'naïve')).toEqual([`out request ${CHAT} @2`, `in answer ${CHAT} @2`])
})

test('a missing text is searched with other case, spaces and punctuation', () => {
  const script = new RunScript().print('Day 41 of a 60-day window. 60 Day\n').end()
  const { occurrences, nearMisses } = find(script, '60  day')
  expect(occurrences).toEqual([])
  expect(nearMisses.map(({ text, count }) => [text, count])).toEqual([['60-day', 1]])
  expect(find(script, 'never said').nearMisses).toEqual([])
  expect(find(script, '?').nearMisses).toEqual([])
})
