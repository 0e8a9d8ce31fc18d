/**
 * Writes record text as bytes directly to its final position, because building strings first would
 * cost more than the rest of the record. Each function returns the position after the text.
 */
const ZERO = 48
const POINT = 46

/** Bytes of an ASCII text that is written often. */
export const ascii = (text: string): Uint8Array =>
  Uint8Array.from(text, (char) => char.charCodeAt(0))

export function putBytes(from: Uint8Array, bytes: Uint8Array, at: number): number {
  for (let i = 0; i < from.length; i++) bytes[at + i] = from[i] ?? 0
  return at + from.length
}

/** ASCII text, such as a hash in hex. */
export function putAscii(text: string, bytes: Uint8Array, at: number): number {
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i)
  return at + text.length
}

/** A whole number in decimal. */
export function putNumber(value: number, bytes: Uint8Array, at: number): number {
  const end = at + digitCount(value)
  for (let to = end - 1, rest = value; to >= at; to--) {
    const next = Math.floor(rest / 10)
    bytes[to] = ZERO + (rest - next * 10)
    rest = next
  }
  return end
}

export function digitCount(value: number): number {
  let count = 1
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) count++
  return count
}

/** A time in milliseconds, to the microsecond, as `String` writes it. */
export function putMilliseconds(ms: number, bytes: Uint8Array, at: number): number {
  const microseconds = Math.round(ms * 1000)
  if (microseconds / 1000 !== ms || microseconds < 0 || microseconds > 2 ** 50)
    return putAscii(String(ms), bytes, at)
  const whole = Math.floor(microseconds / 1000)
  let end = putNumber(whole, bytes, at)
  let part = microseconds - whole * 1000
  if (part === 0) return end
  bytes[end++] = POINT
  for (let unit = 100; part > 0; unit /= 10) {
    const digit = Math.floor(part / unit)
    bytes[end++] = ZERO + digit
    part -= digit * unit
  }
  return end
}

const HEX_DIGITS = ascii('0123456789abcdef')

/** A CRC: eight lower-case hex digits. */
export function putCrc(crc: number, bytes: Uint8Array, at: number): number {
  for (let i = 0, shift = 28; shift >= 0; i++, shift -= 4)
    bytes[at + i] = HEX_DIGITS[(crc >>> shift) & 15] ?? 0
  return at + 8
}
