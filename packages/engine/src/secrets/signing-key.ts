import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import path from 'node:path'
import { attempt, type RunEvent } from '@retake/tape/format'
import { errors } from '../errors.js'
import { disk } from '../overlay/disk.js'
import { outsideRuns } from '../kernel/scope.js'
import { createPrivateFile, stateFolder } from './machine-key.js'

/**
 * Purposes of the ed25519 keys of this machine and user. `seal` signs recordings and receipts,
 * `approval` the decisions of people; a recording program can only use the first.
 */
export const KEY_PURPOSES = ['seal', 'approval'] as const
export type KeyPurpose = (typeof KEY_PURPOSES)[number]

/** The private key, in the state folder, which guarded tools cannot read. */
export const keyFileOf = (purpose: KeyPurpose): string =>
  path.join(stateFolder(), `${purpose}-key.pem`)

/** Next to it, for programs that only check signatures. */
const publicFileOf = (purpose: KeyPurpose): string => keyFileOf(purpose).replace(/pem$/, 'pub.pem')

/** The private key for a purpose; undefined if there is none. */
export function ownKey(purpose: KeyPurpose): KeyObject | undefined {
  return outsideRuns(() => {
    const file = keyFileOf(purpose)
    let pem: string
    try {
      pem = disk.readFileSync(file, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw errors.SIGNING_KEY_UNREADABLE(file, error)
    }
    try {
      return ed25519Key(pem)
    } catch (error) {
      throw errors.SIGNING_KEY_UNREADABLE(file, error)
    }
  })
}

export function ed25519Key(pem: string): KeyObject {
  const key = createPrivateKey(pem)
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`it is a key for ${key.asymmetricKeyType}, not for ed25519`)
  return key
}

/** Like `ownKey`, but creates a missing key. */
export const ownOrNewKey = (purpose: KeyPurpose): KeyObject =>
  ownKey(purpose) ?? outsideRuns(() => storeKey(purpose, generateKeyPairSync('ed25519').privateKey))

/**
 * The key that signs the seal of this run; undefined if it is not signed. A branch in a sandbox may
 * have no key: then its seal is not signed, and every check reports that.
 */
export const sealKeyFor = ({ receipts }: Pick<RunEvent, 'receipts'>): KeyObject | undefined =>
  receipts ? attempt(() => ownOrNewKey('seal')) : undefined

/**
 * Stores a private key unless one exists. Returns the stored one, because another process may have
 * been faster.
 */
export function storeKey(purpose: KeyPurpose, key: KeyObject): KeyObject {
  const file = keyFileOf(purpose)
  try {
    createPrivateFile(file, key.export({ type: 'pkcs8', format: 'pem' }))
    const stored = ownKey(purpose) ?? key
    const shared = createPublicKey(stored).export({ type: 'spki', format: 'pem' })
    disk.writeFileSync(publicFileOf(purpose), shared, { mode: 0o644 })
    return stored
  } catch (error) {
    throw errors.SIGNING_KEY_UNREADABLE(file, error)
  }
}

/** The public key for a purpose as PEM, without the private one; undefined if there is none. */
export const ownPublicKey = (purpose: KeyPurpose): string | undefined =>
  outsideRuns(() => attempt(() => disk.readFileSync(publicFileOf(purpose), 'utf8')))

/**
 * A public key in the form used on tapes and receipts: its 32 bytes in base64. Throws unless it is
 * an ed25519 key.
 */
export function publicKeyText(key: KeyObject | string): string {
  const { crv, x } = createPublicKey(key).export({ format: 'jwk' })
  if (crv !== 'Ed25519' || x === undefined) throw new Error('it is not a key for ed25519')
  return Buffer.from(x, 'base64url').toString('base64')
}
