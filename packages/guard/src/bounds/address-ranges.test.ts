import { describe, expect, test } from 'vitest'
import { addressKindOf, inRange, parseAddress, parseRange } from './network-bounds.js'

const kind = (text: string) => {
  const address = parseAddress(text)
  return address === undefined ? 'no address' : addressKindOf(address)
}

describe('kinds of addresses', () => {
  test.each([
    ['0.0.0.0', 'unspecified'],
    ['0.255.255.255', 'unspecified'],
    ['10.0.0.0', 'private'],
    ['10.255.255.255', 'private'],
    ['100.64.0.0', 'carrier NAT'],
    ['100.127.255.255', 'carrier NAT'],
    ['127.0.0.0', 'loopback'],
    ['127.255.255.255', 'loopback'],
    ['169.254.0.1', 'link-local'],
    ['169.254.169.254', 'metadata'],
    ['169.254.170.2', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['168.63.129.16', 'metadata'],
    ['172.16.0.0', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.1', 'reserved'],
    ['192.0.2.1', 'documentation'],
    ['192.88.99.1', 'reserved'],
    ['192.168.255.255', 'private'],
    ['198.18.0.1', 'benchmark'],
    ['198.19.255.255', 'benchmark'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.255', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::2', 'unspecified'],
    ['::ffff:10.0.0.1', 'private'],
    ['::ffff:169.254.169.254', 'metadata'],
    ['::10.0.0.1', 'private'],
    ['::8.8.8.8', 'reserved'],
    ['::ffff:0:127.0.0.1', 'loopback'],
    ['64:ff9b::127.0.0.1', 'loopback'],
    ['64:ff9b::a9fe:a9fe', 'metadata'],
    ['64:ff9b:1::1', 'reserved'],
    ['100::1', 'reserved'],
    ['2001::1', 'unspecified'],
    ['2001:0:7f00:1::', 'loopback'],
    ['2001:0:4136:e378:8000:63bf:f5ff:fffe', 'private'],
    ['2001:2::1', 'benchmark'],
    ['2001:db8::1', 'documentation'],
    ['3fff::1', 'documentation'],
    ['2002:7f00:1::', 'loopback'],
    ['2002:a00:1::1', 'private'],
    ['5f00::1', 'reserved'],
    ['fc00::1', 'private'],
    ['fdff::1', 'private'],
    ['fd00:ec2::254', 'metadata'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['febf::1', 'link-local'],
    ['fec0::1', 'private'],
    ['ff02::1', 'multicast'],
  ])('%s is %s', (text, expected) => {
    expect(kind(text)).toBe(expected)
  })

  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450::1',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
    '2001:4860:4860::8888',
    '::ffff:8.8.8.8',
  ])('%s is public', (text) => {
    expect(kind(text)).toBe(undefined)
  })
})

describe('blocks', () => {
  test.each([
    ['10.1.0.0/16', '10.1.255.255', true],
    ['10.1.0.0/16', '10.2.0.0', false],
    ['10.1.2.3/16', '10.1.0.1', true],
    ['0.0.0.0/0', '8.8.8.8', true],
    ['0.0.0.0/0', '::1', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.4', false],
    ['fd00::/8', 'fdff::1', true],
    ['fd00::/8', 'fc00::1', false],
    ['::ffff:10.0.0.0/104', '10.200.0.1', true],
  ])('%s with %s: %s', (range, address, expected) => {
    const [block, found] = [parseRange(range), parseAddress(address)]
    expect(block && found && inRange(found, block)).toBe(expected)
  })

  test.each(['', 'x', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/', '10.0.0.0/8/8', '::/129'])(
    '%j is not a range',
    (text) => {
      expect(parseRange(text)).toBe(undefined)
    },
  )
})
