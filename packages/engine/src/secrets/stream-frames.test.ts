import { nodePlatform } from '@retake/tape/node'
import { expect, test } from 'vitest'
import { ContentMask } from './content-mask.js'
import { ReadableStreams } from './readable-streams.js'
import { type FramedText, StreamFrames } from './stream-frames.js'

const upper = (text: Buffer): Buffer => Buffer.from(text.toString('latin1').toUpperCase(), 'latin1')

/** A message of an AWS event stream. */
function message(payload: string): Buffer {
  const headers = Buffer.from([4, 107, 105, 110, 100, 7, 0, 1, 120])
  const bytes = Buffer.alloc(16 + headers.length + payload.length)
  bytes.writeUInt32BE(bytes.length, 0)
  bytes.writeUInt32BE(headers.length, 4)
  bytes.writeUInt32BE(nodePlatform.crc32(bytes.subarray(0, 8)), 8)
  bytes.set(headers, 12)
  bytes.write(payload, 12 + headers.length)
  bytes.writeUInt32BE(nodePlatform.crc32(bytes.subarray(0, -4)), bytes.length - 4)
  return bytes
}

/** Payloads of messages with valid checksums. */
function payloadsOf(bytes: Buffer): string[] {
  const payloads: string[] = []
  for (let at = 0; at < bytes.length;) {
    const end = at + bytes.readUInt32BE(at)
    const checksum = nodePlatform.crc32(bytes.subarray(at, end - 4))
    expect(bytes.readUInt32BE(end - 4)).toBe(checksum)
    payloads.push(bytes.toString('latin1', at + 12 + bytes.readUInt32BE(at + 4), end - 4))
    at = end
  }
  return payloads
}

test('text between the chunk lengths of HTTP/1.1 is masked, wherever the pieces are cut', () => {
  const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
  const whole = `${head}5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbye`
  const wanted = whole.replace('hello', 'HELLO').replace(' world', ' WORLD').replace('bye', 'BYE')
  // The first bytes of an answer show that it is HTTP.
  for (let cut = 'HTTP/1.'.length; cut < whole.length; cut++) {
    const frames = new StreamFrames()
    const mask = (text: Buffer, kind: FramedText): Buffer => (kind === 'head' ? text : upper(text))
    const pieces = [whole.slice(0, cut), whole.slice(cut)]
    const masked = pieces.map((piece) => frames.map(Buffer.from(piece), mask).toString())
    expect(masked.join(''), `cut at ${cut}`).toBe(wanted)
  }
})

test('messages of an AWS event stream keep valid checksums, even if they are cut', () => {
  const whole = Buffer.concat([message('{"text":"ann"}'), message('{"text":"lee"}')])
  expect(payloadsOf(new StreamFrames().map(whole, upper))).toEqual([
    '{"TEXT":"ANN"}',
    '{"TEXT":"LEE"}',
  ])
  const other = Buffer.concat([whole, Buffer.from('no message at all')])
  expect(new StreamFrames().map(other, upper).toString()).toContain('NO MESSAGE AT ALL')
  const head = (length: number): string => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`
  const two = Buffer.concat([
    Buffer.from(head(whole.length)),
    whole,
    Buffer.from(`${head(5)}hello`),
  ])
  expect(new StreamFrames().map(two, upper).toString()).toContain('HELLO')
  const cut = whole.length - 15
  const frames = new StreamFrames()
  const pieces = [whole.subarray(0, cut), whole.subarray(cut)].map((piece) =>
    frames.map(piece, upper),
  )
  expect(payloadsOf(Buffer.concat(pieces))).toEqual(['{"TEXT":"ANN"}', '{"xxxx":"xxx"}'])
})

test('a stream that has ended is shown with pseudonyms, across its pieces', () => {
  const mask = {
    complete: (text: string) => text.replaceAll('ann.lee@example.org', 'xyz.abc@qqqqqqq.zzz'),
    isUnreadable: () => false,
  }
  const streams = new ReadableStreams(mask, { hidesContent: false })
  const event = (text: string): Buffer => Buffer.from(`data: {"content":"${text}"}\n\n`)
  for (const [seq, text] of ['Dear ann.l', 'ee@exam', 'ple.org, hello'].entries())
    streams.add('answer 1 ', {
      seq,
      original: event(text),
      written: event(text.replaceAll(/\w/g, 'x')),
    })
  expect(Buffer.from(streams.end('answer 1 ') ?? []).toString()).toBe(
    [
      '[[0,32],[1,29],[2,36]]\n',
      event('Dear xyz.a'),
      event('bc@qqqq'),
      event('qqq.zzz, hello'),
    ].join(''),
  )
  // Two alternating texts: it is unclear how each continues.
  for (const [seq, text] of [
    '"index":0,"text":"ann.l"',
    '"index":1,"text":"b"',
    '"index":0,"text":"ee@example.org"',
  ].entries())
    streams.add('answer 2 ', {
      seq,
      original: Buffer.from(`{${text}}\n`),
      written: Buffer.from('x'),
    })
  expect(streams.end('answer 2 ')).toBeUndefined()
})

test.each([
  ['{"role":"user","content":"Ann said 7"}', '{"role":"user","content":"xxx xxxx 1"}'],
  [
    String.raw`{"arguments":"{\"id\":\"1182\",\"n\":42,\"ok\":true}"}`,
    String.raw`{"arguments":"{\"id\":\"1111\",\"n\":11,\"ok\":true}"}`,
  ],
  ['{"input":[{"role":"user","content":"hi"}]}', '{"input":[{"role":"user","content":"xx"}]}'],
  ["{ name: 'Ann', phone: 5 }", "{ xxxx: 'xxx', xxxxx: 1 }"],
  ['[+49 30 is my number]', '[+11 11 xx xx xxxxxx]'],
  [
    '{"inputSchema":{"required":["id"],"description":"an id"}}',
    '{"inputSchema":{"required":["id"],"description":"xx xx"}}',
  ],
])('content in %s is blanked', (text, blanked) => {
  expect(new ContentMask('said').piece(text)).toBe(blanked)
})
