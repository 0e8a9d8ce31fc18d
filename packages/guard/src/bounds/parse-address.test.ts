import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalHost, parseAddress } from './network-bounds.js'

test.each([
  ['127.0.0.1', 4, '127.0.0.1'],
  ['::', 6, '::'],
  ['::1', 6, '::1'],
  ['[::1]', 6, '::1'],
  ['1::', 6, '1::'],
  ['::FFFF:1.2.3.4', 4, '1.2.3.4'],
  ['::ffff:102:304', 4, '1.2.3.4'],
  ['::ffff:0:1.2.3.4', 6, '::ffff:0:102:304'],
  ['0:0:0:0:0:FFFF:0:1', 4, '0.0.0.1'],
  ['64:ff9b::1.2.3.4', 6, '64:ff9b::102:304'],
  ['1:2:3:4:5:6:7:8', 6, '1:2:3:4:5:6:7:8'],
  ['fe80::1%eth0', 6, 'fe80::1'],
])('%s is read', (text, family, usual) => {
  expect(parseAddress(text)).toEqual({ family, text: usual })
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
])('%j is not an address in system notation', (text) => {
  expect(parseAddress(text)).toBe(undefined)
})

test('the usual spelling is read as the same address', () => {
  fc.assert(
    fc.property(fc.ipV6(), (text) => {
      const read = parseAddress(text)
      expect(read && parseAddress(read.text)).toEqual(read)
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
  expect(found?.text).toBe(address)
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
])('%j is not a host', (host) => {
  expect(canonicalHost(host)).toBe(undefined)
})
