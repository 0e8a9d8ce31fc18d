/** A 53-bit hash of a text, to distinguish texts quickly. Not for security: no tape is trusted because of it. */
export const hashText = (text: string): number => {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    high = Math.imul(high ^ unit, 2_654_435_761)
    low = Math.imul(low ^ unit, 1_597_334_677)
  }
  return mix(high, low)
}

/** Like `hashText`, for bytes. */
export const hashBytes = (bytes: Uint8Array): number => {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (const byte of bytes) {
    high = Math.imul(high ^ byte, 2_654_435_761)
    low = Math.imul(low ^ byte, 1_597_334_677)
  }
  return mix(high, low)
}

const mix = (first: number, second: number): number => {
  let high = Math.imul(first ^ (first >>> 16), 2_246_822_507)
  high ^= Math.imul(second ^ (second >>> 13), 3_266_489_909)
  let low = Math.imul(second ^ (second >>> 16), 2_246_822_507)
  low ^= Math.imul(high ^ (high >>> 13), 3_266_489_909)
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0)
}
