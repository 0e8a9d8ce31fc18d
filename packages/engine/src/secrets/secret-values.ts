import { hasKeyShape, looksSecret } from '@retake/tape/secrets'

/** Values of settings. Replacing these words wherever they appear would damage a tape. */
export const SETTING_VALUE =
  /^(?:true|false|yes|no|on|off|none|null|undefined|default|auto|always|never|enabled|disabled|required|optional|development|production|staging|localhost|basic|bearer|digest|oauth2?|anonymous)$/i

/**
 * Judges by the name of the variable, or by the value: an address with a password, a known shape of
 * key, a private key, or a long text that looks random.
 */
export const containsSecret = (name: string, value: string): boolean =>
  (looksSecret(name) && !SETTING_VALUE.test(value)) ||
  (urlOf(value)?.password ?? '') !== '' ||
  (!name.startsWith('npm_') && hasKeyShape(value)) ||
  (!DIGEST_NAME.test(name) && looksRandom(value))

/** Names of variables with a digest, a version or an id, which look random but are not secret. */
const DIGEST_NAME =
  /(?:^|_)(?:sha\d*|hash|digest|checksum|commit|revision|rev|ref|version|build|uuid|id)$|^npm_/i
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i

/**
 * A single token with 20 characters in a row that mix upper case, lower case and digits, or
 * with 32 hexadecimal ones. Names of models, hosts and files have shorter parts. Only for
 * values of variables: bodies are full of ids and digests that look the same.
 */
export function looksRandom(value: string): boolean {
  if (value.length < 20 || !/^[\w+/=.~-]+$/.test(value) || UUID.test(value)) return false
  if (/^(?:[\da-f]{32,}|[\dA-F]{32,})$/.test(value)) return true
  if (/^(?:\.{0,2}|~)\/(?:[\w.@+~-]{1,32}\/)*[\w.@+~-]{0,32}$/.test(value)) return false
  const runs = value.match(/[A-Za-z0-9+/]{20,}/g) ?? []
  return runs.some(
    (run) =>
      /[A-Z]/.test(run) && /[a-z]/.test(run) && /\d/.test(run) && bitsPerCharacter(run) >= 3.5,
  )
}

/** Shannon entropy. */
function bitsPerCharacter(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values())
    bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}

/** Undefined if it is not an address. */
export function urlOf(value: string): URL | undefined {
  return value.includes('://') && URL.canParse(value) ? new URL(value) : undefined
}
