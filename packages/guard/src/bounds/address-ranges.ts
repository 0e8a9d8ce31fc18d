import { parseAddress, type Address } from './parse-address.js'

/** Why an address is not just somewhere on the internet. */
export type AddressKind =
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'carrier NAT'
  | 'unspecified'
  | 'multicast'
  | 'broadcast'
  | 'benchmark'
  | 'documentation'
  | 'reserved'
  | 'metadata'

/** A block of addresses. */
export interface AddressRange {
  readonly family: 4 | 6
  readonly start: bigint
  readonly bits: number
}

/** Reads an address or a block such as `10.1.0.0/16`. */
export function parseRange(text: string): AddressRange | undefined {
  const [address = '', length, ...more] = text.split('/')
  const start = parseAddress(address)
  if (start === undefined || more.length > 0) return undefined
  const { family, value } = start
  const width = family === 4 ? 32 : 128
  if (length === undefined) return { family, start: value, bits: width }
  // `::ffff:10.0.0.0/104` is written in bits of IPv6.
  const bits = Number(length) - (family === 4 && address.includes(':') ? 96 : 0)
  if (!/^\d{1,3}$/.test(length) || bits < 0 || bits > width) return undefined
  const free = BigInt(width - bits)
  return { family, start: (value >> free) << free, bits }
}

export function inRange(address: Address, { family, start, bits }: AddressRange): boolean {
  if (address.family !== family) return false
  const free = BigInt((family === 4 ? 32 : 128) - bits)
  return address.value >> free === start >> free
}

/** The special blocks of the IANA registries; the first that fits counts. */
const SPECIAL: readonly (readonly [AddressKind, readonly string[]])[] = [
  // Where clouds hand out credentials to whoever asks. One of them is not even private.
  [
    'metadata',
    [
      '169.254.169.254',
      '169.254.170.2',
      '169.254.170.23',
      '169.254.42.42',
      '100.100.100.200',
      '168.63.129.16',
      '192.0.0.192',
      'fd00:ec2::254',
      'fd00:ec2::23',
      'fd20:ce::254',
      'fd00:42::42',
    ],
  ],
  ['broadcast', ['255.255.255.255']],
  ['unspecified', ['0.0.0.0/8', '::']],
  ['loopback', ['127.0.0.0/8', '::1']],
  ['private', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10']],
  ['link-local', ['169.254.0.0/16', 'fe80::/10']],
  ['carrier NAT', ['100.64.0.0/10']],
  ['multicast', ['224.0.0.0/4', 'ff00::/8']],
  ['benchmark', ['198.18.0.0/15', '2001:2::/48']],
  [
    'documentation',
    ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
  ],
  ['reserved', ['192.0.0.0/24', '192.88.99.0/24', '240.0.0.0/4', '2001:10::/28', '64:ff9b:1::/48']],
]

let known: ReturnType<typeof readBlocks> | undefined

/** The blocks as numbers, which only who has a network scope needs: read before any tool runs under it. */
export const knownBlocks = () => (known ??= readBlocks())

const readBlocks = () => ({
  special: SPECIAL.map(([kind, texts]) => [kind, texts.map(rangeOf)] as const),
  global: rangeOf('2000::/3'),
  nat64: rangeOf('64:ff9b::/96'),
  sixToFour: rangeOf('2002::/16'),
  teredo: rangeOf('2001::/32'),
  compatible: rangeOf('::/96'),
  translated: rangeOf('::ffff:0:0:0/96'),
})

/** Kind of an address that is not public. IPv4 inside IPv6 is judged as IPv4. */
export function addressKindOf(address: Address): AddressKind | undefined {
  const { special, global, nat64 } = knownBlocks()
  const kind = special.find(([, parts]) => parts.some((part) => inRange(address, part)))?.[0]
  if (address.family === 4 || (kind !== undefined && kind !== 'reserved')) return kind
  for (const value of embedded(address)) {
    const inner = addressKindOf({ family: 4, value })
    if (inner !== undefined) return inner
  }
  if (kind !== undefined || inRange(address, global) || inRange(address, nat64)) return kind
  return 'reserved'
}

/** The IPv4 addresses that an IPv6 address leads to. */
function embedded(address: Address): bigint[] {
  const { value } = address
  const low = value & 0xffff_ffffn
  const { nat64, compatible, translated, sixToFour, teredo } = knownBlocks()
  if (inRange(address, nat64) || inRange(address, compatible) || inRange(address, translated))
    return [low]
  if (inRange(address, sixToFour)) return [(value >> 80n) & 0xffff_ffffn]
  // A relay, and behind it the client with every bit turned over.
  if (inRange(address, teredo)) return [(value >> 64n) & 0xffff_ffffn, low ^ 0xffff_ffffn]
  return []
}

/** True if a listed block names exactly this address, which is required for metadata servers. */
export const isSingle = ({ family, bits }: AddressRange): boolean =>
  bits === (family === 4 ? 32 : 128)

function rangeOf(text: string): AddressRange {
  return parseRange(text) as AddressRange
}
