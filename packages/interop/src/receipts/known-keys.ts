import { readFileSync } from 'node:fs'
import path from 'node:path'
import { replacePrivateFile } from '@retake/tape/node'
import {
  KEY_PURPOSES,
  keyFileOf,
  type KeyPurpose,
  ownKey,
  publicKeyText,
} from '@retake/engine/runs'
import { isRecord, attempt } from '@retake/tape'
import { cliErrors } from '@retake/runner/errors'
import { readIfPresent } from '@retake/runner/runs'

/** A public key, as in tapes and receipts, and its owner. */
interface KnownKey {
  readonly name: string
  readonly key: string
  /** Set for the keys of this machine and user. */
  readonly purpose?: KeyPurpose
}

const trustedFile = (): string => path.join(path.dirname(keyFileOf('seal')), 'trusted-keys.json')

/** Own keys first, then those of others by name. */
export function knownKeys(): KnownKey[] {
  const own = KEY_PURPOSES.flatMap((purpose) => {
    const key = ownKey(purpose)
    return key === undefined ? [] : [{ name: 'this machine', key: publicKeyText(key), purpose }]
  })
  return [...own, ...Object.entries(trustedKeys()).map(([name, key]) => ({ name, key }))]
}

export const keyOwner = (key: string): string | undefined =>
  knownKeys().find((known) => known.key === key)?.name

function trustedKeys(): Readonly<Record<string, string>> {
  const parse = (text: string): Readonly<Record<string, string>> => {
    const value: unknown = JSON.parse(text)
    if (isRecord(value) && Object.values(value).every((key) => typeof key === 'string'))
      return value as Record<string, string>
    throw new Error('it is not a list of keys')
  }
  return readIfPresent(trustedFile(), parse, cliErrors.KEYS_UNREADABLE) ?? {}
}

/** Names a key; without a key, forgets the name. Returns false if nothing changed. */
export function nameKey(name: string, key?: string): boolean {
  const before = trustedKeys()
  const { [name]: known, ...others } = before
  if (known === key) return false
  const after = key === undefined ? others : { ...others, [name]: key }
  replacePrivateFile(trustedFile(), `${JSON.stringify(after, null, 2)}\n`)
  return true
}

/** Finds a key by the name of a known one, the key itself, or a PEM file. */
export function findKey(given: string): string {
  const named = knownKeys().find(({ name, purpose }) => name === given || purpose === given)
  if (named !== undefined) return named.key
  if (/^[\w+/]{43}=$/.test(given)) return given
  const pem = attempt(() => readFileSync(given, 'utf8'))
  const key = pem === undefined ? undefined : attempt(() => publicKeyText(pem))
  if (key === undefined) throw cliErrors.KEY_NOT_FOUND(given)
  return key
}
