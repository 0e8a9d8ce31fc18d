/**
 * Functions that the format needs from its host. The core imports nothing from
 * Node: `@retake/tape/node` and `@retake/tape/browser` each provide one.
 * Everything is synchronous, so that a tape can be read like a data structure.
 */
export interface TapePlatform {
  /** sha256 as lower-case hex; strings are hashed as UTF-8. */
  sha256(data: Uint8Array | string): string
  createSha256(): Sha256
  /** CRC-32 (IEEE); `seed` is the CRC of what came before. */
  crc32(bytes: Uint8Array, seed?: number): number
  /** UTF-8 text of `bytes[from, to)`. */
  text(bytes: Uint8Array, from: number, to: number): string
  inflateRaw(bytes: Uint8Array): Uint8Array
  gunzip(bytes: Uint8Array): Uint8Array
  /** Blocks of a packed tape that stay unpacked, of 256 KB each; a few unless set. */
  readonly openBlocksMax?: number
  /** Absent where ed25519 cannot be checked synchronously. Keys are the 32 raw bytes. */
  verifyEd25519?(message: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): boolean
}

/** A sha256 fed in pieces; `hex` ends it. */
export interface Sha256 {
  update(data: Uint8Array | string): void
  hex(): string
}

/** Functions that writing needs in addition. */
export interface WriterPlatform extends TapePlatform {
  deflateRaw(bytes: Uint8Array, level: number): Uint8Array
  /** Puts text as UTF-8 into `bytes` at `at`, where it must fit; answers with its length there. */
  writeText(text: string, bytes: Uint8Array, at: number): number
  /** True if `length` bytes of `a` and `b` are the same. */
  equal(a: Uint8Array, aFrom: number, b: Uint8Array, bFrom: number, length: number): boolean
}

/**
 * The bytes of a tape. `read` answers with fewer bytes than asked only at the
 * end of the source. The answer may be a view: nobody changes it, and it stays
 * as it is after later reads.
 */
export interface ByteSource {
  readonly size: number
  read(offset: number, length: number): Uint8Array
}
