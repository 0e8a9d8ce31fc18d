import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** A normalized address. IPv4 mapped into IPv6 (`::ffff:10.0.0.1`) is IPv4. */
export interface Address {
  readonly family: 4 | 6
  readonly text: string
}

/** Parses an address, also in brackets or with a zone. */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { family: 4, text }
  const bare = text.replace(/^\[(.*)\]$/s, '$1').replace(/%.*$/s, '')
  if (!isIPv6(bare)) return undefined
  const usual = new URL(`http://[${bare}]`).hostname.slice(1, -1)
  const [high, low] = usual.startsWith('::ffff:') ? usual.slice('::ffff:'.length).split(':') : []
  return high === undefined || low === undefined || usual.split(':').length !== 5
    ? { family: 6, text: usual }
    : { family: 4, text: dotted(Number.parseInt(high, 16), Number.parseInt(low, 16)) }
}

const dotted = (high = 0, low = 0): string => [high >> 8, high & 255, low >> 8, low & 255].join('.')

/** A block of addresses. */
export interface AddressRange {
  readonly family: 4 | 6
  readonly bits: number
  readonly list: BlockList
}

/** Parses an address or a block such as `10.1.0.0/16`. */
export function parseRange(text: string): AddressRange | undefined {
  const [address = '', length, ...more] = text.split('/')
  const start = parseAddress(address)
  if (start === undefined || more.length > 0) return undefined
  const { family } = start
  const width = family === 4 ? 32 : 128
  // `::ffff:10.0.0.0/104` is written in bits of IPv6.
  const bits =
    length === undefined ? width : Number(length) - (family === 4 && address.includes(':') ? 96 : 0)
  if (!/^\d{1,3}$/.test(length ?? '0') || bits < 0 || bits > width) return undefined
  const list = new BlockList()
  list.addSubnet(start.text, bits, `ipv${family}`)
  return { family, bits, list }
}

export const inRange = (address: Address, { family, list }: AddressRange): boolean =>
  address.family === family && list.check(address.text, `ipv${family}`)

/** Special blocks of the IANA registries, by why an address in them is not public. The first match counts. */
const SPECIAL = {
  /** Addresses where clouds hand out credentials. */
  metadata: [
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
  broadcast: ['255.255.255.255'],
  unspecified: ['0.0.0.0/8', '::'],
  loopback: ['127.0.0.0/8', '::1'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10'],
  'link-local': ['169.254.0.0/16', 'fe80::/10'],
  'carrier NAT': ['100.64.0.0/10'],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  benchmark: ['198.18.0.0/15', '2001:2::/48'],
  documentation: [
    '192.0.2.0/24',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '2001:db8::/32',
    '3fff::/20',
  ],
  reserved: ['192.0.0.0/24', '192.88.99.0/24', '240.0.0.0/4', '2001:10::/28', '64:ff9b:1::/48'],
} as const

export type AddressKind = keyof typeof SPECIAL

let known: ReturnType<typeof readBlocks> | undefined

/** Parsed for the first network scope, before its tools run. */
export const knownBlocks = () => (known ??= readBlocks())

const readBlocks = () => ({
  special: Object.entries(SPECIAL).map(
    ([kind, texts]) => [kind as AddressKind, texts.map(rangeOf)] as const,
  ),
  global: rangeOf('2000::/3'),
  nat64: rangeOf('64:ff9b::/96'),
  sixToFour: rangeOf('2002::/16'),
  teredo: rangeOf('2001::/32'),
  /** IPv4 at the end: compatible and translated addresses. */
  atEnd: ['::/96', '::ffff:0:0:0/96'].map(rangeOf),
})

/** Kind of an address that is not public. IPv4 inside IPv6 counts as IPv4. */
export function addressKindOf(address: Address): AddressKind | undefined {
  const { special, global, nat64 } = knownBlocks()
  const kind = special.find(([, parts]) => parts.some((part) => inRange(address, part)))?.[0]
  if (address.family === 4 || (kind !== undefined && kind !== 'reserved')) return kind
  for (const text of embedded(address)) {
    const inner = addressKindOf({ family: 4, text })
    if (inner !== undefined) return inner
  }
  if (kind !== undefined || inRange(address, global) || inRange(address, nat64)) return kind
  return 'reserved'
}

/** The IPv4 addresses that an IPv6 address leads to. */
function embedded(address: Address): string[] {
  const [before = '', after = ''] = address.text.split('::')
  const [left, right] = [before, after].map((part) => part.split(':').filter(Boolean))
  const gap = Array<string>(8 - (left?.length ?? 0) - (right?.length ?? 0)).fill('0')
  const groups = [...(left ?? []), ...gap, ...(right ?? [])].map((each) =>
    Number.parseInt(each, 16),
  )
  const [, second, third, fourth, , , seventh = 0, eighth = 0] = groups
  const { nat64, atEnd, sixToFour, teredo } = knownBlocks()
  if ([nat64, ...atEnd].some((range) => inRange(address, range))) return [dotted(seventh, eighth)]
  if (inRange(address, sixToFour)) return [dotted(second, third)]
  // The relay, and the client with inverted bits.
  if (inRange(address, teredo))
    return [dotted(third, fourth), dotted(seventh ^ 0xffff, eighth ^ 0xffff)]
  return []
}

/** True for a block of one address, which metadata servers require. */
export const isSingle = ({ family, bits }: AddressRange): boolean =>
  bits === (family === 4 ? 32 : 128)

const rangeOf = (text: string): AddressRange => parseRange(text) as AddressRange
