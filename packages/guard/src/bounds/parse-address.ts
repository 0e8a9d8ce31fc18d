import { isIPv4, isIPv6 } from 'node:net'

/** An address as a number. One that is IPv4 in IPv6 clothes (`::ffff:10.0.0.1`) is IPv4. */
export interface Address {
  readonly family: 4 | 6
  readonly value: bigint
}

const MAPPED = 0xffffn

/** Reads an address as the system writes it: dotted or with colons, perhaps in brackets or with a zone. */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { family: 4, value: dotted(text) }
  const bare = text
    .replace(/^\[(.*)\]$/s, '$1')
    .replace(/%.*$/s, '')
    .toLowerCase()
  if (!isIPv6(bare)) return undefined
  const value = colons(bare)
  return value >> 32n === MAPPED ? { family: 4, value: value & 0xffff_ffffn } : { family: 6, value }
}

/** The address in its usual spelling; that of IPv6 is not shortened but for leading zeros. */
export function printAddress({ family, value }: Address): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
  const groups = Array.from({ length: 8 }, (_, at) =>
    ((value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16),
  )
  return groups
    .join(':')
    .replace(/\b0(?::0\b)+/, '')
    .replace(/^:?$|^:(?!:)|([^:]):$/, '$1::')
}

function dotted(text: string): bigint {
  return text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
}

function colons(text: string): bigint {
  const tail = /[\d.]+\.\d+$/.exec(text)?.[0]
  const hex = tail === undefined ? text : text.slice(0, -tail.length) + hexPair(dotted(tail))
  const [before = '', after] = hex.split('::')
  const left = before === '' ? [] : before.split(':')
  const right = after === undefined || after === '' ? [] : after.split(':')
  const gap = Array<string>(8 - left.length - right.length).fill('0')
  return [...left, ...gap, ...right].reduce((sum, group) => (sum << 16n) + BigInt(`0x${group}`), 0n)
}

const hexPair = (value: bigint): string =>
  `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`
