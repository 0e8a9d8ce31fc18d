import { describe, expect, test } from 'vitest'
import { networkBounds } from './network-bounds.js'

const open = networkBounds('p', {})
const listed = networkBounds('p', {
  allow: ['api.example.com', '*.cdn.example.com', 'example.org:8443', '[2606:4700::1]:443'],
  addresses: ['127.0.0.1:5432', '10.1.0.0/16'],
})
const reading = networkBounds('p', { methods: ['GET'] })

const code = (denial: { code: string } | undefined) => denial?.code

describe('arguments of a tool', () => {
  test.each([
    'http://127.0.0.1/',
    ' HTTP://LOCALHOST:80 ',
    'http:\\\\10.0.0.1\\x',
    'ht\ttp://10.0.0.1',
    'http://example.com@127.0.0.1/',
    'http://2130706433/',
    'ws://192.168.0.1/',
    'redis://127.0.0.1:6379/0',
    'http:10.0.0.1',
    'http://exam\nple.com@127.0.0.1/',
    'http://0x7f.1/',
    'http://[::ffff:7f00:1]/',
    'http://１２７.０.０.１/',
    'ftp://192.168.0.1/',
    'postgres://user:word@10.0.0.1/db',
  ])('%j leads into the private network', (text) => {
    expect(code(open.inspect(text, 'value'))).toBe('ADDRESS_PRIVATE')
    expect(code(listed.inspect(text, 'value'))).toBe('ADDRESS_PRIVATE')
  })

  test.each(['http://169.254.169.254/x', 'http://metadata/', 'http://[fd00:ec2::254]/'])(
    '%j leads to credentials',
    (text) => {
      expect(code(listed.inspect(text, 'value'))).toBe('ADDRESS_METADATA')
    },
  )

  test.each([
    'https://evil.test/',
    '//evil.test/x',
    'evil.test:443',
    'ssh://evil.test',
    '127.0.0.1',
    '127.0.0.1:8080',
    'localhost',
    '::1',
    'metadata.google.internal',
    'custom://localhost/x',
    'http://127.0.0.1:5432/',
  ])('%j may be data: the boundary judges it when it is connected to', (text) => {
    for (const at of ['url', 'host', 'ip', 'value'])
      expect(listed.inspect(text, at)).toBe(undefined)
    expect(reading.inspect('ftp://example.com/', 'url')).toBe(undefined)
  })

  test.each([
    '',
    ' ',
    'hello',
    'Ask evil.test about it.',
    'Our server is at http://127.0.0.1:8080 today',
    'http://127.0.0.1 is where it runs',
    'See\nhttps://evil.test/\nfor more',
    '// a comment',
    '/usr/local/bin',
    './a.b/c',
    '../x',
    'report.md',
    'main.py:12',
    'src/index.ts:10',
    'index.js',
    'v1.2.3',
    '1.2.3',
    '127.1',
    '10.1',
    '2130706433',
    '0x7f000001',
    '10:30',
    '12:30:45',
    '16:9',
    '2026-11-15T12:00:00Z',
    '10.0.0.0/8',
    'user:42',
    'node:fs',
    'nginx:1',
    'metadata',
    'instance-data',
    'somebody@example.test',
    'mailto:somebody@evil.test',
    'urn:isbn:123',
    'data:text/plain,hello',
    's3://bucket/key',
    'file:///etc/hosts',
    'C:\\Users\\x',
    'a:b:c',
    'key=value',
    '{"url":"x"}',
    '10.example.com',
    '127.0.0.1.example.com',
  ])('%j is not taken for a URL', (text) => {
    expect(listed.inspect(text, 'value')).toBe(undefined)
  })

  test('a long text takes no longer than its length', () => {
    for (const piece of ['\n', '\t', ':', '.', 'a.', '_a', '@', '/', '\u0001', '[', '::', '//'])
      for (const end of ['', ' x', 'x', '/'])
        expect(open.inspect(piece.repeat(200_000) + end, 'value')?.code).not.toBe('ADDRESS_PRIVATE')
  }, 5_000)
})

describe('hosts', () => {
  test.each([
    ['api.example.com', 443, undefined],
    ['API.example.com.', 1, undefined],
    ['x.cdn.example.com', 80, undefined],
    ['cdn.example.com', 80, 'HOST_NOT_ALLOWED'],
    ['xcdn.example.com', 80, 'HOST_NOT_ALLOWED'],
    ['example.org', 8443, undefined],
    ['example.org', 443, 'HOST_NOT_ALLOWED'],
    ['2606:4700::1', 443, undefined],
    ['2606:4700::1', 80, 'HOST_NOT_ALLOWED'],
    ['8.8.8.8', 53, 'HOST_NOT_ALLOWED'],
    ['127.0.0.1', 5432, undefined],
    ['localhost', 5432, undefined],
    ['127.0.0.1', 5433, 'ADDRESS_PRIVATE'],
    ['10.1.255.1', 9, undefined],
    ['10.2.0.1', 9, 'ADDRESS_PRIVATE'],
    ['', 80, 'HOST_INVALID'],
    ['a b', 80, 'HOST_INVALID'],
    ['api.example.com/', 80, 'HOST_INVALID'],
    ['api.example.com\0.evil.test', 80, 'HOST_INVALID'],
  ])('%j port %i: %s', (host, port, expected) => {
    expect(code(listed.checkHost(host, port, false))).toBe(expected)
  })

  test('a refusal says what would be allowed, and by which rule it was', () => {
    const denial = listed.checkHost('evil.test', 443, false)
    expect(denial).toMatchObject({
      rule: 'p/network',
      what: 'The tool tried to connect to evil.test:443.',
    })
    expect(denial?.allowed).toContain('api.example.com')
    expect(listed.checkAddress('10.9.9.9', 80, 'x.test')?.allowed).toContain('`10.9.9.9:80`')
  })

  test.each([
    ['[fd00::]/8:80', 'fd12::1', 80, true],
    ['[fd00::]/8:80', 'fd12::1', 81, false],
    ['10.0.0.0/8:*', '10.1.1.1', 7, true],
    ['10.0.0.0/8:5432', '10.1.1.1', 5432, true],
    ['10.0.0.0/8:5432', '10.1.1.1', 5433, false],
    ['fd00::/8', 'fd12::1', 1, true],
    ['127.0.0.1', '::ffff:127.0.0.1', 1, true],
    ['127.0.0.1', '::1', 1, false],
  ])('listed as %s: %s port %i: %s', (entry, address, port, isAllowed) => {
    const bounds = networkBounds('p', { addresses: [entry] })
    expect(bounds.checkAddress(address, port, 'x') === undefined).toBe(isAllowed)
  })

  test('a host may be listed with every port', () => {
    const bounds = networkBounds('p', { allow: ['x.test:*', '*:443'] })
    expect(bounds.checkHost('x.test', 9, true)).toBe(undefined)
    expect(bounds.checkHost('y.test', 443, true)).toBe(undefined)
    expect(bounds.checkHost('y.test', 80, true)?.code).toBe('HOST_NOT_ALLOWED')
  })

  test('a local socket must be listed', () => {
    const bounds = networkBounds('p', { addresses: ['unix:/run/db.sock'] })
    expect(bounds.checkSocket('/run/db.sock')).toBe(undefined)
    expect(bounds.checkSocket('/run/db.sock2')?.code).toBe('LOCAL_SOCKET_NOT_ALLOWED')
    expect(open.checkSocket('/var/run/docker.sock')?.code).toBe('LOCAL_SOCKET_NOT_ALLOWED')
  })

  test('a metadata address must be listed explicitly', () => {
    const block = networkBounds('p', { addresses: ['169.254.0.0/16'] })
    expect(code(block.checkAddress('169.254.169.254', 80, 'x'))).toBe('ADDRESS_METADATA')
    expect(block.checkAddress('169.254.1.1', 80, 'x')).toBe(undefined)
    const itself = networkBounds('p', { addresses: ['169.254.169.254:80'] })
    expect(itself.checkAddress('169.254.169.254', 80, 'x')).toBe(undefined)
  })

  test('names that are not listed are not looked up', () => {
    expect(code(listed.checkLookup('data.evil.test'))).toBe('LOOKUP_NOT_ALLOWED')
    expect(listed.checkLookup('example.org')).toBe(undefined)
    const away = networkBounds('p', { allow: ['example.org'] })
    expect(away.checkLookup('localhost')).toBe(undefined)
    expect(code(away.checkLookup('data.localhost'))).toBe('LOOKUP_NOT_ALLOWED')
    const home = networkBounds('p', { allow: [], addresses: ['127.0.0.1:3000'] })
    expect(home.checkLookup('app.localhost')).toBe(undefined)
    expect(open.checkLookup('anything.test')).toBe(undefined)
  })

  test.each(['https://x.test', 'x.test/path', '', 'a*b.test', 'x.test:99999', '*.*.test'])(
    'an allow list with %j cannot be used',
    (text) => {
      expect(() => networkBounds('p', { allow: [text] })).toThrow(/cannot be read/)
    },
  )

  test.each(['x.test', '10.0.0.0/33', '1.2.3', '127.0.0.1:99999', '[::1'])(
    'a list of addresses with %j cannot be used',
    (text) => {
      expect(() => networkBounds('p', { addresses: [text] })).toThrow(/cannot be read/)
    },
  )
})
