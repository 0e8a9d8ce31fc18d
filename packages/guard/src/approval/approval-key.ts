import { createPublicKey, sign, verify } from 'node:crypto'
import { outsideRuns, ownOrNewKey, ownPublicKey } from '@retake/engine/hook'

/**
 * Signs as the user of this machine, with a key that guarded tools cannot read. The first
 * decision creates the key. The waiting program only uses the public key.
 */
export const signApproval = (text: string): string =>
  outsideRuns(() => sign(null, Buffer.from(text), ownOrNewKey('approval')).toString('base64url'))

/** The public key, for programs on other machines: `approval: { keys: [text] }`. */
export const approvalPublicKey = (): string =>
  outsideRuns(() =>
    createPublicKey(ownOrNewKey('approval')).export({ type: 'spki', format: 'pem' }).toString(),
  )

/** True if the user of this machine or the owner of one of `keys` signed it. */
export function isSignedApproval(
  text: string,
  signature: unknown,
  keys: readonly string[] = [],
): boolean {
  if (typeof signature !== 'string') return false
  const bytes = Buffer.from(signature, 'base64url')
  const own = ownPublicKey('approval')
  return [...(own === undefined ? [] : [own]), ...keys].some((key) => verifies(key, text, bytes))
}

function verifies(key: string, text: string, signature: Buffer): boolean {
  try {
    return verify(null, Buffer.from(text), createPublicKey(key), signature)
  } catch {
    return false
  }
}
