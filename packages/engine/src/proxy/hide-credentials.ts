import type { HeaderPair } from '@retake/tape/format'
import { isSecretHeader, keysInQuery } from '../headers.js'
import type { SecretMask } from '../secrets.js'

/** Keys by which a client is known all the time; signatures, which change, are not worth remembering. */
const KEYS_MAX = 64
const seen = new WeakMap<SecretMask, Set<string>>()

/**
 * Keys that a client sends stay off the tape wherever else they stand: the proxy
 * does not know the environment of its clients, only what they send.
 */
export function hideCredentials(
  secrets: SecretMask,
  headers: readonly HeaderPair[],
  url: URL,
): void {
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    if (!isSecretHeader(lower) || lower.includes('cookie') || value.startsWith('AWS4-')) continue
    hide(secrets, value.replace(/^(bearer|basic|token)\s+/i, ''))
  }
  if (url.search !== '') for (const key of keysInQuery(url)) hide(secrets, key)
}

function hide(secrets: SecretMask, key: string): void {
  const known = seen.get(secrets) ?? new Set()
  seen.set(secrets, known)
  if (known.has(key) || known.size >= KEYS_MAX) return
  known.add(key)
  // A key that is hidden under a name already, or is a placeholder itself, keeps it.
  if (secrets.text(key) === key && !key.includes('retake-hidden')) secrets.hide(key)
}
