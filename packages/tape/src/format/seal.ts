import { attempt } from './values/attempt.js'
import { fromBase64 } from './values/bytes.js'
import type { TapePlatform } from './platform.js'
import type { SealEvent } from './events.js'

export interface SealStatement {
  readonly count: number
  /** Chain hash of the last heavy event. */
  readonly chain: string
  /** Digest of the light events after it. */
  readonly lights: string
  readonly root: string
}

/** The bytes that the ed25519 signature of a seal covers. */
export const sealMessage = (seal: SealStatement): Uint8Array =>
  new TextEncoder().encode(
    `retake seal 1\n${seal.count}\n${seal.chain}\n${seal.lights}\n${seal.root}\n`,
  )

/** Checks an ed25519 signature; undefined if this platform cannot. Browsers can only check asynchronously. */
export type SignatureCheck = (
  message: Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
) => boolean | undefined | Promise<boolean | undefined>

/** Raw bytes of a signature and its key, both base64; undefined if they are invalid. */
export function signatureBytes(
  key: string,
  signature: string,
): { readonly key: Uint8Array; readonly signature: Uint8Array } | undefined {
  const bytes = attempt(() => ({ key: fromBase64(key), signature: fromBase64(signature) }))
  return bytes?.key.length === 32 && bytes.signature.length === 64 ? bytes : undefined
}

/** `unchecked`: there is a signature, but this platform cannot check it. */
export type SignatureState = 'none' | 'valid' | 'invalid' | 'unchecked'

/** Checks the signature of a seal. A valid one proves that the key's owner sealed the run, not who that is. */
export function checkSignature(
  platform: TapePlatform,
  seal: SealEvent,
  statement: SealStatement,
): SignatureState {
  if (seal.key === undefined && seal.signature === undefined) return 'none'
  if (platform.verifyEd25519 === undefined) return 'unchecked'
  const bytes = signatureBytes(seal.key ?? '', seal.signature ?? '')
  if (bytes === undefined) return 'invalid'
  const { key, signature } = bytes
  return platform.verifyEd25519(sealMessage(statement), signature, key) ? 'valid' : 'invalid'
}
