/**
 * Functions that the format needs from its host. The core imports nothing from Node:
 * `@retake/tape/node` and `@retake/tape/browser` each provide one. All functions are synchronous,
 * so that a tape can be read like a data structure.
 */
export interface TapePlatform {
  /** sha256 as lower-case hex; strings are hashed as UTF-8. */
  sha256(data: Uint8Array | string): string
  createSha256(): Sha256
  /** CRC-32 (IEEE); `seed` is the CRC of the preceding bytes. */
  crc32(bytes: Uint8Array, seed?: number): number
  /** UTF-8 text of `bytes[from, to)`. */
  text(bytes: Uint8Array, from: number, to: number): string
  /** Both throw if the result is longer than `maxBytes`, before all of it is in memory. */
  inflateRaw(bytes: Uint8Array, maxBytes: number): Uint8Array
  gunzip(bytes: Uint8Array, maxBytes: number): Uint8Array
  /** Maximum number of unpacked blocks in memory, of 256 KB each; small by default. */
  readonly openBlocksMax?: number
  /** Missing if ed25519 cannot be checked synchronously. Keys are the 32 raw bytes. */
  verifyEd25519?(message: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): boolean
}

/** Incremental sha256; `hex` ends it. */
export interface Sha256 {
  update(data: Uint8Array | string): void
  hex(): string
}

export interface WriterPlatform extends TapePlatform {
  deflateRaw(bytes: Uint8Array, level: number): Uint8Array
  /** Writes text as UTF-8 into `bytes` at `at`, where it must fit; returns its length. */
  writeText(text: string, bytes: Uint8Array, at: number): number
  /** True if `length` bytes of `a` and `b` are the same. */
  equal(a: Uint8Array, aFrom: number, b: Uint8Array, bFrom: number, length: number): boolean
}

/**
 * The bytes of a tape. `read` returns fewer bytes than requested only at the end of the source. The
 * result may be a view; it must not be changed, and stays valid after later reads.
 */
export interface ByteSource {
  readonly size: number
  read(offset: number, length: number): Uint8Array
}
