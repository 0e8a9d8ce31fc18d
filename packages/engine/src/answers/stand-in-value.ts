/**
 * A value in place of one that no recording has: a clock stands still, chance
 * follows from the seed, a fact about the machine stays what it was. Only what
 * was never drawn at all is asked of the machine itself.
 */
export function standInFor(
  kind: string,
  from: {
    readonly last: unknown
    readonly random: () => number
    readonly native: () => unknown
  },
): unknown {
  const { last, random, native } = from
  const [source = kind, size] = kind.split(' ')
  if (source === 'Math.random') return random()
  if (source === 'crypto.randomUUID') return uuid(random)
  if (source === 'FormData') return `----formdata-undici-0${digits(random, 11)}`
  if (source.startsWith('crypto.') && size !== undefined)
    return bytes(random, Number(size)).toString('base64')
  return last ?? native()
}

const bytes = (random: () => number, size: number): Buffer =>
  Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)))

const digits = (random: () => number, count: number): string =>
  Array.from({ length: count }, () => Math.floor(random() * 10)).join('')

function uuid(random: () => number): string {
  const raw = bytes(random, 16)
  raw[6] = ((raw[6] ?? 0) & 0x0f) | 0x40
  raw[8] = ((raw[8] ?? 0) & 0x3f) | 0x80
  return raw.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
