const TABLE = new Uint32Array(256)
for (let byte = 0; byte < 256; byte++) {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  TABLE[byte] = value
}

/** CRC-32 (IEEE), continued from the CRC of what came before. */
export function crc32(bytes: Uint8Array, seed = 0): number {
  let crc = ~seed
  for (let i = 0; i < bytes.length; i++) {
    crc = (TABLE[(crc ^ (bytes[i] ?? 0)) & 255] ?? 0) ^ (crc >>> 8)
  }
  return ~crc >>> 0
}
