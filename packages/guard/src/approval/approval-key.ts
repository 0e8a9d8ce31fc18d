import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import path from 'node:path'
import { disk, outsideRuns, stateFolder } from '@retake/engine/hook'

/**
 * Approvals are signed with a key in the state folder of the approver, which guarded tools cannot
 * read. The waiting program only uses the public key.
 */
const keyFile = (): string => path.join(stateFolder(), 'approval-key.pem')
const publicFile = (): string => path.join(stateFolder(), 'approval-key.pub.pem')

/** Signs as the user of this machine. The first decision creates the key. */
export function signApproval(text: string): string {
  return outsideRuns(() => sign(null, Buffer.from(text), privateKey()).toString('base64url'))
}

/** The public key, for programs on other machines: `approval: { keys: [text] }`. */
export function approvalPublicKey(): string {
  return outsideRuns(() =>
    createPublicKey(privateKey()).export({ type: 'spki', format: 'pem' }).toString(),
  )
}

/** True if the user of this machine or the owner of one of `keys` signed it. */
export function isSignedApproval(
  text: string,
  signature: unknown,
  keys: readonly string[] = [],
): boolean {
  if (typeof signature !== 'string') return false
  const bytes = Buffer.from(signature, 'base64url')
  return [...ownPublicKey(), ...keys].some((key) => verifies(key, text, bytes))
}

function verifies(key: string, text: string, signature: Buffer): boolean {
  try {
    return verify(null, Buffer.from(text), createPublicKey(key), signature)
  } catch {
    return false
  }
}

function ownPublicKey(): string[] {
  return outsideRuns(() => {
    try {
      return [disk.readFileSync(publicFile(), 'utf8')]
    } catch {
      return []
    }
  })
}

function privateKey(): KeyObject {
  const file = keyFile()
  try {
    return createPrivateKey(disk.readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const pair = generateKeyPairSync('ed25519')
  disk.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  try {
    const text = pair.privateKey.export({ type: 'pkcs8', format: 'pem' })
    disk.writeFileSync(file, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  // Another process may have created it first.
  const key = createPrivateKey(disk.readFileSync(file, 'utf8'))
  const shared = createPublicKey(key).export({ type: 'spki', format: 'pem' })
  disk.writeFileSync(publicFile(), shared, { mode: 0o644 })
  return key
}
