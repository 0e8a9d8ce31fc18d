import type { HeaderPair } from '@retake/tape/format'
import { HIDDEN, isSecretHeader } from './kernel/headers.js'
import type { Session } from './kernel/session.js'

/** Digests of the body, which could be used to verify guesses about it. */
const DIGEST =
  /^(?:content-md5|(?:content-|repr-)?digest|x-amz-content-sha256|x-amz-checksum-.*|x-goog-hash)$/

/** Header values as they may be written to the tape of `session`. */
export function maskHeaders(
  session: Pick<Session, 'secrets'>,
  headers: Iterable<readonly [string, string]>,
): HeaderPair[] {
  const masked: HeaderPair[] = []
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    if (lower === 'set-cookie') {
      // Leaves names and attributes, so that a replayed agent can still parse the cookie.
      const cookie = value.replace(/=([^;]*)/, (_, secret: string) => {
        session.secrets.hide(secret)
        return `=${'x'.repeat(secret.length)}`
      })
      masked.push([lower, cookie])
    } else if (DIGEST.test(lower)) masked.push([lower, session.secrets.digest(value)])
    else if (isSecretHeader(lower)) {
      session.secrets.learnHeader(lower, value)
      masked.push([lower, HIDDEN])
    } else masked.push([lower, session.secrets.named(lower, value)])
  }
  return masked
}

const SECRET_QUERY =
  /^(key|api[-_]?key|access[-_]?token|token|auth|signature|sig|x-amz-(signature|credential|security-token|date))$/i

/** A query of plain names, none of them secret, need not be parsed. */
const PLAIN_QUERY = /^[^?@%+]*\?[^@%+]*$/
const NAMES_SECRET = /[?&](key|api|access|token|auth|sig|x-amz)/i

/** The URL without keys in its query or credentials in its authority. */
export function maskUrl(url: string): string {
  if (!url.includes('?') && !url.includes('@')) return url
  if (PLAIN_QUERY.test(url) && !NAMES_SECRET.test(url)) return url
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    // Like `maskUrl`, for a path or any other incomplete URL.
    return url.replaceAll(/([?&])([^=&#]+)=[^&#]*/g, (pair, mark: string, name: string) =>
      SECRET_QUERY.test(name) ? `${mark}${name}=${HIDDEN}` : pair,
    )
  }
  let changed = false
  if (parsed.password !== '') {
    parsed.password = HIDDEN
    changed = true
  }
  for (const name of new Set(parsed.searchParams.keys())) {
    if (!SECRET_QUERY.test(name)) continue
    parsed.searchParams.set(name, HIDDEN)
    changed = true
  }
  return changed ? parsed.href : url
}

/** Keys in the query of a URL. Excludes signatures, which differ every time. */
export const keysInQuery = (url: URL): string[] =>
  [...url.searchParams]
    .filter(([name]) => SECRET_QUERY.test(name) && !SIGNED.test(name))
    .map(([, value]) => value)

const SIGNED = /^(signature|sig|x-amz-.*)$/i
