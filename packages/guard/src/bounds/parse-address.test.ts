import { isIPv6 } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalHost } from './canonical-host.js'
import { parseAddress, printAddress } from './parse-address.js'

test.each([
  ['127.0.0.1', 4, 0x7f00_0001n],
  ['255.255.255.255', 4, 0xffff_ffffn],
  ['::', 6, 0n],
  ['::1', 6, 1n],
  ['[::1]', 6, 1n],
  ['1::', 6, 1n << 112n],
  ['::FFFF:1.2.3.4', 4, 0x0102_0304n],
  ['::ffff:102:304', 4, 0x0102_0304n],
  ['64:ff9b::1.2.3.4', 6, (0x64_ff9bn << 96n) + 0x0102_0304n],
  ['1:2:3:4:5:6:7:8', 6, 0x0001_0002_0003_0004_0005_0006_0007_0008n],
  ['fe80::1%eth0', 6, (0xfe80n << 112n) + 1n],
])('%s is read', (text, family, value) => {
  expect(parseAddress(text)).toEqual({ family, value })
})

test.each([
  '',
  'x',
  '127.1',
  '0177.0.0.1',
  '1.2.3.4.5',
  '256.1.1.1',
  ':::',
  '1:2',
  '[127.0.0.1',
  'example.com',
])('%j is no address as the system writes it', (text) => {
  expect(parseAddress(text)).toBe(undefined)
})

test('what is printed is read as the same address', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), (value) => {
      const printed = printAddress({ family: 6, value })
      expect(isIPv6(printed)).toBe(true)
      const read = parseAddress(printed)
      expect(read?.value).toBe(read?.family === 6 ? value : value & 0xffff_ffffn)
    }),
  )
  fc.assert(
    fc.property(fc.ipV6(), (text) => {
      const read = parseAddress(text)
      expect(read && parseAddress(printAddress(read))).toEqual(read)
    }),
  )
})

test.each([
  ['0', '0.0.0.0'],
  ['1', '0.0.0.1'],
  ['127.1', '127.0.0.1'],
  ['2130706433', '127.0.0.1'],
  ['0x7f000001', '127.0.0.1'],
  ['0X7F.1', '127.0.0.1'],
  ['0177.0.0.1', '127.0.0.1'],
  ['017700000001', '127.0.0.1'],
  ['127.0.0.1.', '127.0.0.1'],
  ['%31%32%37.1', '127.0.0.1'],
  ['①②⑦.⓪.⓪.①', '127.0.0.1'],
  ['１２７。０。０。１', '127.0.0.1'],
  ['[::ffff:7f00:1]', '127.0.0.1'],
])('the host %s means %s', (host, address) => {
  const found = canonicalHost(host)?.address
  expect(found && printAddress(found)).toBe(address)
})

test.each([
  ['10.example.com', '10.example.com'],
  ['Example.COM.', 'example.com'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['ex%61mple.com', 'example.com'],
  ['127.0.0.1.nip.io', '127.0.0.1.nip.io'],
  ['0x7f.example', '0x7f.example'],
  ['a_b.test', 'a_b.test'],
])('the host %s is the name %s', (host, name) => {
  expect(canonicalHost(host)).toEqual({ name, address: undefined })
})

test.each([
  '',
  ' ',
  'a b',
  'a/b',
  'a@b',
  'a:80',
  'a\\b',
  'a#b',
  'a?b',
  '256.256.256.256',
  '08.1.1.1',
  'a\0b',
])('%j is no host', (host) => {
  expect(canonicalHost(host)).toBe(undefined)
})
