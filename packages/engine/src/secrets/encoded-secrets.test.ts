import fc from 'fast-check'
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { SecretMask } from './secrets.js'

/** Made up at run time, so that no scanner finds a key in this file. */
const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9e'

const SECRETS: Readonly<Record<string, string>> = {
  MODEL_API_KEY: `sk-${letters}`,
  DB_PASSWORD: 'tr0ub4dor&3"horse\\battery/staple',
  SIGNING_SECRET: letters.slice(3, 35),
  SESSION_TOKEN: `planted+${letters.slice(9, 29)}==`,
}

const CHUNK = { type: 'deliver', op: 1, part: 'chunk' } as const
const RESULT = { type: 'result', op: 1 } as const

const hex = (text: string): string => Buffer.from(text).toString('hex')
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const json = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Ways to encode a text inside another one. */
const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => `before ${text} after`,
  json: (text) => `{"a":"${json(text)}"}`,
  'json in json': (text) => JSON.stringify({ arguments: JSON.stringify({ a: text }) }),
  'json in json in json': (text) => JSON.stringify(JSON.stringify(JSON.stringify({ a: text }))),
  url: (text) => `https://a.example/?x=${encodeURIComponent(text)}&y=1`,
  form: (text) => new URLSearchParams({ x: text }).toString(),
  hex: (text) => `<${hex(`(${text})`)}>`,
  'upper hex': (text) => hex(text).toUpperCase(),
  'base64, alignment 0': (text) => `"${base64(text)}"`,
  'base64, alignment 1': (text) => `"${base64(`(${text}:z`)}"`,
  'base64, alignment 2': (text) => `"${base64(`u:${text}:z`)}"`,
  base64url: (text) => Buffer.from(`>>?${text}>>?`).toString('base64url'),
  'json in base64': (text) => base64(JSON.stringify({ a: text })),
  'url in base64': (text) => base64(`x=${encodeURIComponent(text)}`),
  'base64 in a url': (text) => `?x=${encodeURIComponent(base64(text))}`,
}

/** Everything that can be decoded from a text. */
function* readings(text: string): Generator<string> {
  yield text
  yield text.replaceAll(/\\+(["\\/])/g, '$1')
  yield decodeURIComponent(text.replaceAll(/%(?![0-9A-Fa-f]{2})/g, '%25'))
  for (const [run] of text.matchAll(/[A-Za-z0-9+/_%-]{16,}/g)) {
    const unescaped = decodeURIComponent(run.replaceAll(/%(?![0-9A-Fa-f]{2})/g, '%25'))
    yield Buffer.from(run, 'hex').toString('latin1')
    for (const skipped of [0, 1, 2, 3]) {
      const decoded = Buffer.from(unescaped.slice(skipped), 'base64').toString('latin1')
      yield decoded
      yield decoded.replaceAll(/\\+(["\\/])/g, '$1')
      yield decodeURIComponent(decoded.replaceAll(/%(?![0-9A-Fa-f]{2})/g, '%25'))
    }
  }
}

const canBeRead = (secret: string, text: string): boolean =>
  [...readings(text)].some((reading) => reading.includes(secret))

const maskOf = (values: Readonly<Record<string, string>>): SecretMask => {
  const mask = new SecretMask()
  mask.addEnvironment(values)
  return mask
}

describe.each(Object.entries(ENCODINGS))('a secret of the environment in %s', (_, encode) => {
  test.each(Object.entries(SECRETS))('%s', (name, secret) => {
    const mask = maskOf({ [name]: secret })
    const text = encode(secret)
    expect(canBeRead(secret, text)).toBe(true)
    const masked = mask.text(text)
    expect(canBeRead(secret, masked), masked).toBe(false)
    expect(Buffer.from(mask.bytes(Buffer.from(text))).toString()).toBe(masked)
    expect(masked.length).toBe(text.length)
    // A replay with the placeholder and one with the secret have the same result.
    expect(mask.text(encode(mask.text(secret)))).toBe(masked)
    expect(mask.text(masked)).toBe(masked)
  })
})

const KEYS = [
  `sk-${letters}`,
  `ghp_${letters.slice(0, 36)}`,
  `glpat-${letters.slice(0, 20)}`,
  `AKIA${letters.toUpperCase().slice(0, 16)}`,
  `AIza${letters.slice(0, 35)}`,
  `npm_${letters.slice(0, 36)}`,
]

test.each(
  Object.entries(ENCODINGS).flatMap(([name, encode]) =>
    KEYS.map((key) => [name, key.slice(0, 4), key, encode] as const),
  ),
)('in %s, an unknown key is found by its shape: %s…', (_, __, key, encode) => {
  const text = encode(key)
  const masked = new SecretMask().text(text)
  expect(canBeRead(key.slice(6), text)).toBe(true)
  expect(canBeRead(key.slice(6), masked), masked).toBe(false)
  expect(masked.length).toBe(text.length)
  expect(new SecretMask().text(masked)).toBe(masked)
})

/** A password of words, a token and a key that is a UUID. */
const words = ['lantern', 'meadow', '58'].join('')
const token = `planted-${letters.slice(0, 24)}`
const uuid = ['7f3a9c81', '0b2d', '4e6f', '8a9b', '1c2d3e4f5a6b'].join('-')

test.each([
  [`{"data":"${base64(words)}"}`, words],
  [`{"data":"${hex(words)}","more":true}`, words],
  [`{"data":"${hex(words).toUpperCase()}"}`, words],
  [JSON.stringify({ arguments: JSON.stringify({ content: base64(words) }) }), words],
  [`["${Buffer.from(token).toString('base64url')}"]`, token],
  [`{"data":"${hex(uuid)}"}`, uuid],
  [`shop: ${base64(words)}\nregion: eu\n`, words],
  [`user=app&data=${encodeURIComponent(base64(words))}&page=2`, words],
])('without a name, an encoded word that looks like a secret is hidden: %s', (text, secret) => {
  const mask = new SecretMask()
  const masked = mask.text(text)
  expect(canBeRead(secret, text)).toBe(true)
  expect(canBeRead(secret, masked), masked).toBe(false)
  expect(masked.length).toBe(text.length)
  expect(mask.text(masked)).toBe(masked)
  // The program may decode it, with the same result in a replay.
  expect(mask.text(`it is ${secret}, in hex ${hex(secret)}`)).not.toMatch(
    new RegExp(`${secret}|${hex(secret)}`),
  )
})

test.each([
  `{"cursor":"${base64('elevenlamps216')}"}`,
  `{"node_id":"${base64('elevenlamps216')}"}`,
  `{"state":"${base64(letters)}"}`,
  // Text, paths, digests, numbers, and ids.
  `{"data":"${base64('the lamp 216 is red')}"}`,
  `{"data":"${base64('src/lamps/index12.ts')}"}`,
  `{"data":"${base64('1a2b3c4d5e6f7a8b'.repeat(2))}"}`,
  `{"data":"${base64('Product:1234567890')}"}`,
  `{"data":"${base64('product-1234567890')}"}`,
  `{"data":"${base64('productions12345678')}"}`,
  `{"data":"${base64('an-ordinary-list-of-words')}"}`,
  `{"data":"${base64(uuid)}"}`,
  // A state that a service encoded twice.
  `{"data":"${base64(base64(letters))}"}`,
  // Part of something longer, also if a chunk ends inside it.
  `{"data":"v1.${base64(words)}"}`,
  `{"data":"${base64('lanternmea58dowlamps216').slice(0, 16)}`,
])('%s is no encoded secret', (text) => {
  expect(new SecretMask().text(text)).toBe(text)
})

test('a password of words and a number that was found by its name is hidden from then on', () => {
  const mask = new SecretMask()
  mask.text(`{"password":"${words}"}`)
  expect(mask.text(`it is ${words}`)).not.toContain(words)
  expect(mask.text(`it is ${base64(`ann:${words}`)}`)).not.toContain(base64(`ann:${words}`))
  mask.text('{"password":"lamps12"}')
  expect(mask.text('it is lamps12')).toBe('it is lamps12')
})

const random = letters.slice(0, 24)
test.each([
  `{"api_key": "${random}"}`,
  `{"accessToken":"${random}"}`,
  JSON.stringify({ arguments: JSON.stringify({ client_secret: random }) }),
  `password=${random}&x=1`,
  `X-Auth-Token: ${random}`,
  `Authorization: Bearer ${random}`,
  `const apiKey = '${random}'`,
  `export SERVICE_TOKEN=${random}`,
  `a?q=1&x=api_key%3D${random}`,
  `secret: ${'0123456789abcdef'.repeat(2)}`,
])('a random value after a name is hidden there and from then on: %s', (text) => {
  const mask = new SecretMask()
  const value = text.includes(random) ? random : '0123456789abcdef'.repeat(2)
  const masked = mask.text(text)
  expect(masked).not.toContain(value)
  expect(masked.length).toBe(text.length)
  expect(mask.text(`now ${value} alone, and ${base64(`u${value}`)}`)).not.toContain(value)
  expect(mask.text(masked)).toBe(masked)
})

test.each([
  '{"next_page_token":"aB3dE6gH9jK2mN5pQ8sT1vW4"}',
  '{"cacheKey":"aB3dE6gH9jK2mN5pQ8sT1vW4"}',
  '{"id":"aB3dE6gH9jK2mN5pQ8sT1vW4"}',
  'const tokenProvider = createTokenProviderForOAuth2Flow',
  '"integrity": "sha512-aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fR3uI6oL9e"',
  'apiKey: process.env.SOME_LONG_VARIABLE_NAME_2',
])('%s stays', (text) => {
  expect(new SecretMask().text(text)).toBe(text)
})

describe('compressed', () => {
  const secret = `sk-${letters}`
  const text = JSON.stringify({
    text: `some words and ${secret} `.repeat(3),
    more: 'x'.repeat(400),
  })
  const masked = maskOf({ MODEL_API_KEY: secret }).text(text)

  test.each([
    ['gzip', gzipSync, gunzipSync],
    ['deflate', deflateSync, inflateSync],
  ] as const)('%s: an answer can be unpacked, and is as long as before', (_, pack, unpack) => {
    const mask = maskOf({ MODEL_API_KEY: secret })
    const answer = Buffer.from(mask.body(RESULT, pack(text)))
    expect(unpack(answer).toString()).toBe(masked)
    expect(answer.length).toBe(pack(text).length)
    const head = Buffer.from(
      `HTTP/1.1 200 OK\r\ncontent-encoding: ${_}\r\ncontent-length: ${pack(text).length}\r\n\r\n`,
    )
    const whole = Buffer.from(mask.body(RESULT, Buffer.concat([head, pack(text)])))
    expect(unpack(whole.subarray(head.length)).toString()).toBe(masked)
  })

  test('the chunk lengths of HTTP/1.1 do not change', () => {
    const packed = gzipSync(text)
    const parts = [packed.subarray(0, 10), packed.subarray(10)]
    const framed = (pieces: readonly Uint8Array[]): Buffer =>
      Buffer.concat([
        Buffer.from(
          'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n',
        ),
        ...pieces.flatMap((piece) => [
          Buffer.from(`${piece.length.toString(16)}\r\n`),
          piece,
          Buffer.from('\r\n'),
        ]),
        Buffer.from('0\r\n\r\n'),
      ])
    const given = framed(parts)
    const answer = Buffer.from(maskOf({ MODEL_API_KEY: secret }).body(RESULT, given))
    const start = answer.indexOf('\r\n\r\n') + 4
    const content = Buffer.concat([
      answer.subarray(start + 3, start + 13),
      answer.subarray(answer.indexOf('\r\n', start + 15) + 2),
    ])
    expect(gunzipSync(content).toString()).toBe(masked)
    expect(answer.length).toBe(given.length)
  })

  test('a request is the same at any level, with the secret and with its placeholder', () => {
    const mask = maskOf({ MODEL_API_KEY: secret })
    const expected = Buffer.from(mask.bytes(gzipSync(text, { level: 1 })))
    expect(gunzipSync(expected).toString()).toBe(masked)
    for (const level of [1, 6, 9])
      for (const content of [text, masked])
        expect(expected.equals(mask.bytes(gzipSync(content, { level })))).toBe(true)
    const brotli = Buffer.from(mask.bytes(brotliCompressSync(text), 'br'))
    expect(brotli.equals(mask.bytes(brotliCompressSync(masked), 'br'))).toBe(true)
    expect(brotli.equals(brotliCompressSync(text))).toBe(false)
  })

  test('text around compressed parts is unchanged, and every part is masked', () => {
    const mask = maskOf({ MODEL_API_KEY: secret })
    const parts = [
      `head ${secret}\r\n\r\n`,
      gzipSync(text),
      '\r\nbetween\r\n',
      gzipSync(`x${text}`),
    ]
    const given = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
    for (const masked of [mask.bytes(given), mask.body(RESULT, given)].map((each) =>
      Buffer.from(each),
    )) {
      expect(masked.toString('latin1')).toContain('head sk-retake-hidden')
      expect(masked.toString('latin1')).toContain('\r\nbetween\r\n')
      const magic = Buffer.from([0x1f, 0x8b, 0x08])
      const first = masked.indexOf(magic)
      const second = masked.indexOf(magic, masked.indexOf('between'))
      expect(gunzipSync(masked.subarray(first, masked.indexOf('\r\nbetween'))).toString()).toBe(
        mask.text(text),
      )
      expect(gunzipSync(masked.subarray(second)).toString()).toBe(mask.text(`x${text}`))
    }
    expect(mask.body(RESULT, given).length).toBe(given.length)
  })

  test('bytes that only start like gzip are unchanged', () => {
    const bytes = Buffer.from([0x1f, 0x8b, 0x08, 1, 2, 3, 4, 5, 6, 7, 8])
    expect(new SecretMask().bytes(bytes)).toBe(bytes)
  })
})

describe('cut by the borders of chunks', () => {
  const secret = `sk-${letters}`
  /** Number of characters of a cut secret that may remain; fewer than a secret has. */
  const STAYS = 7
  const fragments = Array.from({ length: secret.length - STAYS }, (_, at) =>
    secret.slice(at, at + STAYS + 1),
  ).filter((fragment) => !'retake-hidden'.includes(fragment))

  test('at most seven characters of a secret remain, wherever it is cut', () => {
    const text = `{"before":1,"text":"it is ${secret} now","after":2}`
    const start = text.indexOf(secret)
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(text.length), { maxLength: 12 }),
        fc.boolean(),
        (cuts, isKnown) => {
          const mask = isKnown ? maskOf({ MODEL_API_KEY: secret }) : new SecretMask()
          const borders = [0, ...cuts.toSorted((a, b) => a - b), text.length]
          const masked = borders.slice(1).map((end, at) => {
            const piece = text.slice(borders[at], end)
            const result = Buffer.from(mask.body(CHUNK, Buffer.from(piece))).toString()
            expect(result.length).toBe(piece.length)
            return result
          })
          const all = masked.join('')
          const isWhole = cuts.every((cut) => cut <= start || cut >= start + secret.length)
          expect(isWhole ? all : mask.text(text)).toBe(mask.text(text))
          const left = isKnown ? fragments.filter((fragment) => all.includes(fragment)) : []
          expect(left).toEqual([])
          expect(all).not.toContain(secret)
        },
      ),
    )
  })

  test('a secret that a model streams in a few letters at a time is hidden', () => {
    const mask = maskOf({ MODEL_API_KEY: secret })
    const pieces = secret.match(/.{1,4}/g) ?? []
    const events = ['Use ', ...pieces, ' now.'].map(
      (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`,
    )
    const masked = events.map((event) =>
      Buffer.from(mask.body(CHUNK, Buffer.from(event))).toString(),
    )
    const said = masked.map(
      (event) =>
        (JSON.parse(event.slice(6)) as { choices: [{ delta: { content: string } }] }).choices[0]
          .delta.content,
    )
    expect(said.join('').length).toBe(`Use ${secret} now.`.length)
    for (const fragment of fragments) expect(said.join('')).not.toContain(fragment)
  })
})

/** More than half of each request repeats the previous one. */
const history = `{"role":"user","content":"${'What does the policy say about it? '.repeat(120)}"},`
const passphrase = `${'correct horse "battery" '.repeat(30)}staple`
const privateKey = [
  '-----BEGIN PRIVATE',
  ` KEY-----\n${`${letters}\n`.repeat(20)}`,
  '-----END PRIVATE KEY-----',
].join('')
test.each<[kind: string, secret: string, known?: string]>([
  ['a passphrase', passphrase, passphrase],
  ['a passphrase in JSON', json(passphrase), passphrase],
  ...Object.entries(ENCODINGS).map(([name, encode]): [string, string] => [
    `an unknown key in ${name}`,
    encode(KEYS[0] ?? ''),
  ]),
  ['a random value after a name', `{"api_key"  :   "  ${random}"}`],
  ['a web token', `eyJ${letters}.eyJ${letters}.${letters}`],
  ['a password in an address', `postgres://someone:${random}@db.example/main`],
  ['an escaped password', encodeURIComponent(`postgres://someone:${random}@db.example/main`)],
  ['a private key', privateKey],
  ['an escaped private key', encodeURIComponent(privateKey)],
  ['bytes of a value', `{"$":"Buffer","v":"${base64(`the key is ${KEYS[0]} "x"`)}"}`],
])('%s is found wherever the request differs from the previous one', (_, secret, known) => {
  const request = Buffer.from(`${history}{"role":"user","content":"${secret}"}`)
  const step = Math.ceil(secret.length / 60)
  for (let end = history.length; end <= request.length; end += step)
    for (const other of ['', '"}, and so on']) {
      const mask = maskOf(known === undefined ? {} : { PASSPHRASE: known })
      mask.bytes(Buffer.concat([request.subarray(0, end), Buffer.from(other)]))
      expect(Buffer.from(mask.bytes(request)).toString(), `after ${end}`).not.toContain(secret)
    }
})

test('a secret that became known later is found in a request that was sent before', () => {
  const mask = new SecretMask()
  const request = Buffer.from(`${history}{"role":"user","content":"the horse is blue"}`)
  expect(mask.bytes(request)).toBe(request)
  expect(mask.bytes(request)).toBe(request)
  mask.add('PASSPHRASE', 'the horse is blue')
  expect(Buffer.from(mask.bytes(request)).toString()).not.toContain('horse')
})
