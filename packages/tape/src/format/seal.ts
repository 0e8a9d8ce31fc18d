import type { TapePlatform } from './platform.js'
import type { SealEvent } from './events.js'

/** Statement of a seal about the events before it. */
export interface SealStatement {
  readonly count: number
  /** Chain hash of the last heavy event. */
  readonly chain: string
  /** Digest of the light events after it. */
  readonly lights: string
  readonly root: string
}

/** The bytes an ed25519 signature of a seal covers. */
export const sealMessage = (seal: SealStatement): Uint8Array =>
  new TextEncoder().encode(
    `retake seal 1\n${seal.count}\n${seal.chain}\n${seal.lights}\n${seal.root}\n`,
  )

/** `unchecked`: there is a signature, but this platform cannot check it. */
export type SignatureState = 'none' | 'valid' | 'invalid' | 'unchecked'

/** Checks the signature a seal carries. A valid one says that the key's owner sealed the run, not who that is. */
export function checkSignature(
  platform: TapePlatform,
  seal: SealEvent,
  statement: SealStatement,
): SignatureState {
  if (seal.key === undefined && seal.signature === undefined) return 'none'
  if (platform.verifyEd25519 === undefined) return 'unchecked'
  const key = fromBase64(seal.key ?? '')
  const signature = fromBase64(seal.signature ?? '')
  if (key?.length !== 32 || signature?.length !== 64) return 'invalid'
  return platform.verifyEd25519(sealMessage(statement), signature, key) ? 'valid' : 'invalid'
}

function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}
