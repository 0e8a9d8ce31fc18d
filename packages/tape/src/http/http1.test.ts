import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Http1Scanner, type Http1Hooks, type Http1Request, type Http1Response } from './http1.js'

const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0))
const textOf = (bytes: Uint8Array): string => String.fromCharCode(...bytes)

const REQUESTS = [
  'GET /v1/models?limit=2 HTTP/1.1\r\nHost: api.example.test\r\n\r\n',
  'POST /v1/messages HTTP/1.1\r\nHost: a.test\r\nContent-Length: 13\r\n\r\n{"model":"m"}',
  'POST /upload HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n' +
    '5;name=value\r\nhello\r\n6\r\n\r\n\0\xffwo\r\n0\r\nX-Check: 7\r\n\r\n',
  'OPTIONS * HTTP/1.0\r\n\r\n',
]
const RESPONSES = [
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n' +
    'A\r\ndata: {}\n\n\r\n1a\r\n0123456789abcdefghijklmnop\r\n0\r\n\r\n',
  'HTTP/1.1 204 No Content\r\nSet-Cookie: a=1; Path=/\r\nset-cookie:b=22\r\n\r\n',
  'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 5\r\n\r\nwait!',
  'HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n',
  'HTTP/1.1 200\r\ncontent-length: 0\r\nX-Long: one\r\n two\r\n\r\n',
]

/** All messages when `text` is pushed in pieces cut at `cuts`. */
const scan = <S extends 'request' | 'response'>(
  side: S,
  text: string,
  cuts: readonly number[] = [],
  hooks: Http1Hooks<S> = {},
) => {
  const scanner = new Http1Scanner(side, hooks)
  const bytes = bytesOf(text)
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted(
    (a, b) => a - b,
  )
  const pieces = edges.slice(1).map((end, index) => bytes.slice(edges[index], end))
  const messages = pieces.flatMap((piece) => scanner.push(piece))
  return {
    messages: [...messages, ...scanner.end()],
    scanner,
    masked: textOf(Uint8Array.from(pieces.flatMap((piece) => [...piece]))),
  }
}

const cutsOf = fc.array(fc.nat({ max: 2_000 }), { maxLength: 30 })

describe('requests', () => {
  test('are complete, with their bodies joined from chunks', () => {
    const { messages } = scan('request', REQUESTS.join(''))
    expect(messages.map(({ method, target }) => `${method} ${target}`)).toEqual([
      'GET /v1/models?limit=2',
      'POST /v1/messages',
      'POST /upload',
      'OPTIONS *',
    ])
    expect(messages.map(({ body }) => textOf(body))).toEqual([
      '',
      '{"model":"m"}',
      'hello\r\n\0\xffwo',
      '',
    ])
    expect(messages[2]?.trailers).toEqual([['X-Check', '7']])
    expect(messages[0]?.headers).toEqual([['Host', 'api.example.test']])
    expect(messages[3]?.httpVersion).toBe('1.0')
  })

  test('are the same however the bytes are cut', () => {
    const whole = scan('request', REQUESTS.join('')).messages
    fc.assert(
      fc.property(cutsOf, (cuts) => {
        expect(scan('request', REQUESTS.join(''), cuts).messages).toEqual(whole)
      }),
    )
    const single = Array.from({ length: REQUESTS.join('').length }, (_, index) => index)
    expect(scan('request', REQUESTS.join(''), single).messages).toEqual(whole)
  })

  test('appear at the byte that completes them', () => {
    const scanner = new Http1Scanner('request')
    const text = REQUESTS[1] as string
    expect(scanner.idle).toBe(true)
    expect(scanner.push(bytesOf(text.slice(0, -1)))).toEqual([])
    expect(scanner.idle).toBe(false)
    expect(scanner.push(bytesOf(text.slice(-1)))).toHaveLength(1)
    expect(scanner.idle).toBe(true)
  })

  test('leave HTTP after CONNECT', () => {
    const { messages, scanner } = scan('request', 'CONNECT a.test:443 HTTP/1.1\r\n\r\n\x16\x03\x01')
    expect(messages).toHaveLength(1)
    expect(scanner.upgraded).toBe(true)
  })

  test('leave HTTP when the other side agreed to', () => {
    const scanner = new Http1Scanner('request')
    scanner.push(bytesOf('GET /chat HTTP/1.1\r\nUpgrade: websocket\r\n\r\n'))
    scanner.upgrade()
    expect(scanner.push(bytesOf('\x81\x85abc'))).toEqual([])
    expect([scanner.notHttp, scanner.failure]).toEqual([false, undefined])
  })
})

describe('responses', () => {
  const answers = (cuts: readonly number[] = []): Http1Response[] =>
    scan('response', RESPONSES.join(''), cuts).messages

  test('are complete, interim ones too', () => {
    expect(
      answers().map(({ status, statusText, body }) => [status, statusText, textOf(body)]),
    ).toEqual([
      [100, 'Continue', ''],
      [200, 'OK', 'data: {}\n\n0123456789abcdefghijklmnop'],
      [204, 'No Content', ''],
      [429, 'Too Many Requests', 'wait!'],
      [304, 'Not Modified', ''],
      [200, '', ''],
    ])
    expect(answers()[5]?.headers).toEqual([
      ['content-length', '0'],
      ['X-Long', 'one two'],
    ])
  })

  test('are the same however the bytes are cut', () => {
    const whole = answers()
    fc.assert(
      fc.property(cutsOf, (cuts) => {
        expect(answers(cuts)).toEqual(whole)
      }),
    )
  })

  test('have no body when they answer HEAD, whatever their length says', () => {
    const scanner = new Http1Scanner('response')
    for (const method of ['HEAD', 'GET']) scanner.expect(method)
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n'
    const messages = scanner.push(bytesOf(`HTTP/1.1 100 Continue\r\n\r\n${head}${head}body`))
    expect(messages.map(({ body }) => textOf(body))).toEqual(['', '', 'body'])
  })

  test('without a length last until the connection ends', () => {
    const { messages } = scan('response', 'HTTP/1.0 200 OK\r\n\r\nall the rest')
    expect(messages.map(({ body, complete }) => [textOf(body), complete])).toEqual([
      ['all the rest', true],
    ])
  })

  test('that are truncated say so and keep what arrived', () => {
    const { messages } = scan('response', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf')
    expect(messages.map(({ body, complete }) => [textOf(body), complete])).toEqual([
      ['half', false],
    ])
    expect(scan('response', 'HTTP/1.1 200 OK\r\nConte').messages).toEqual([])
  })

  test('leave HTTP after 101 and after the answer to CONNECT', () => {
    const upgraded = scan('response', 'HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x05hello')
    expect(upgraded.messages.map(({ status }) => status)).toEqual([101])
    expect(upgraded.scanner.upgraded).toBe(true)
    const tunnel = new Http1Scanner('response')
    tunnel.expect('CONNECT')
    expect(
      tunnel.push(bytesOf('HTTP/1.1 200 Connection established\r\n\r\n\x16\x03')),
    ).toHaveLength(1)
    expect(tunnel.upgraded).toBe(true)
  })

  test('deliver their head and each piece of content as it arrives', () => {
    const seen: string[] = []
    const { messages } = scan('response', RESPONSES[1] as string, [90, 100], {
      dropBodies: true,
      onHead: ({ status }) => seen.push(`head ${status}`),
      onBody: (part) => seen.push(textOf(part)),
    })
    expect(seen[0]).toBe('head 200')
    expect(seen.slice(1).join('')).toBe('data: {}\n\n0123456789abcdefghijklmnop')
    expect(seen.length).toBeGreaterThan(3)
    expect(messages[0]?.body).toHaveLength(0)
  })

  test('do not share memory with their input', () => {
    const bytes = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkeep')
    const [message] = new Http1Scanner('response').push(bytes)
    bytes.fill(0)
    expect(textOf(message?.body ?? new Uint8Array())).toBe('keep')
    const scanner = new Http1Scanner('response')
    const reused = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nke')
    scanner.push(reused)
    reused.fill(0)
    expect(scanner.push(Buffer.from('ep')).map(({ body }) => textOf(body))).toEqual(['keep'])
  })
})

describe('masking', () => {
  const text = RESPONSES.join('')
  const expected = text
    .replace('Set-Cookie: a=1; Path=/', 'Set-Cookie: a=x; Path=/')
    .replace('set-cookie:b=22', 'set-cookie:b=xx')

  test('overwrites cookie values in place and nothing else, however the bytes are cut', () => {
    fc.assert(
      fc.property(cutsOf, (cuts) => {
        const hidden: string[] = []
        const hooks = {
          maskValuesOf: ['Set-Cookie'],
          onMasked: (value: string) => hidden.push(value),
        }
        expect(scan('response', text, cuts, hooks).masked).toBe(expected)
        expect(hidden).toEqual(['1', '22'])
      }),
    )
  })

  test('reaches lines that continue a value, and spares look-alikes in a body', () => {
    const head = 'HTTP/1.1 200 OK\r\nSet-Cookie: a=b=c\r\n\tmore\r\nContent-Length: 15\r\n\r\n'
    const { masked } = scan('response', `${head}Set-Cookie: z=1`, [], {
      maskValuesOf: ['set-cookie'],
    })
    expect(masked).toBe(
      'HTTP/1.1 200 OK\r\nSet-Cookie: a=xxx\r\n\txxxx\r\nContent-Length: 15\r\n\r\nSet-Cookie: z=1',
    )
  })
})

describe('bytes that are not HTTP/1', () => {
  test.each([
    ['a TLS hello', '\x16\x03\x01\x02'],
    ['a greeting with a colon', 'SSH-2.0:x y'],
    ['a blank first', ' GET / HTTP/1.1'],
    ['a word without end', 'x'.repeat(40)],
    ['the HTTP/2 preface', 'PRI * HTTP/2.0\r\n'],
    ['a query', 'SELECT 1;\n'],
  ])('are known as such from their beginning: %s', (_, text) => {
    expect(scan('request', text).scanner.notHttp).toBe(true)
  })

  test('are also recognised in the other direction', () => {
    expect(scan('response', 'HTTP/2').scanner.notHttp).toBe(true)
    expect(scan('response', 'HTT').scanner.notHttp).toBe(false)
    expect(scan('response', '+OK').scanner.notHttp).toBe(true)
  })

  test('never make it throw', () => {
    const soup = fc.array(
      fc.oneof(
        fc.uint8Array(),
        fc.constantFrom(...REQUESTS, ...RESPONSES, '\r\n', 'ff').map(bytesOf),
      ),
    )
    fc.assert(
      fc.property(
        soup,
        fc.constantFrom('request' as const, 'response' as const),
        (pieces, side) => {
          const scanner = new Http1Scanner(side)
          for (const piece of pieces) scanner.push(piece)
          const ended: readonly (Http1Request | Http1Response)[] = scanner.end()
          expect(ended.length).toBeLessThan(2)
        },
      ),
    )
  })
})

describe('broken framing', () => {
  test.each([
    ['POST / HTTP/1.1\r\nContent-Length: ten\r\n\r\n', 'content-length "ten" is not a length'],
    ['POST / HTTP/1.1\r\nContent-Length: 1, 2\r\n\r\n', 'content-length "1, 2" is not a length'],
    ['POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 'a chunk has no size in "zz"'],
    [
      'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab',
      'a chunk does not end where it said',
    ],
    [`GET / HTTP/1.1\r\nX: ${'y'.repeat(70_000)}`, 'a head is larger than 65536 bytes'],
    [`GET / HTTP/1.1\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`, 'a head is larger than 65536 bytes'],
    [`${REQUESTS[0]}\x16\x03`, 'is not an HTTP request'],
  ])('is described in words', (text, failure) => {
    const { scanner } = scan('request', text)
    expect(scanner.failure).toContain(failure)
    expect(scanner.notHttp).toBe(false)
    expect(scanner.push(bytesOf(REQUESTS[0] as string))).toEqual([])
  })
})
