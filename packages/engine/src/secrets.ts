import { pathToFileURL } from 'node:url'
import { hasKeyShape, maskKeys } from '@retake/tape/format'
import { natives } from './natives.js'
import type { MovedRoot } from './process-task.js'

/**
 * Keeps secret values off the tape. A secret is replaced by a placeholder that
 * names it; a replayed process gets that placeholder as the variable's value,
 * so what it sends still matches what was stored, byte for byte. Keys that are
 * recognisable by their shape are also replaced, wherever they come from.
 *
 * Not promised: a secret split over two chunks or encoded (base64, URL-escaped,
 * compressed) is not recognised. One of fewer than eight characters is hidden as the value of
 * its variable only: replacing every `1234` would damage unrelated text.
 */
export class SecretMask {
  readonly #secrets = new Map<string, { needle: Buffer; value: string; placeholder: string }>()
  /** Called for each value that is hidden from now on. */
  onHidden: ((value: string, placeholder: string) => void) | undefined

  add(name: string, value: string): void {
    const placeholder = placeholderFor(name, value)
    if (value.length < SHORTEST_SECRET || value === placeholder) return
    this.hideAs(value, placeholder)
    const { password } = urlOf(value) ?? {}
    if (password) this.add(`${name}_PASSWORD`, decodeURIComponent(password))
  }

  /** Hides a value behind the placeholder that a tape has for it, which may be that of another value. */
  usePlaceholder(value: string, placeholder: string, name: string): void {
    this.add(name, value)
    if (this.#secrets.has(value)) this.hideAs(value, placeholder)
  }

  /** Hides a value behind this placeholder, whatever its length. */
  hideAs(value: string, placeholder: string): void {
    this.#secrets.set(value, { needle: Buffer.from(value), value, placeholder })
    this.onHidden?.(value, placeholder)
  }

  /** Hides the values that a served part of the same run hides, behind the same placeholders. */
  takeOver(served: SecretMask): void {
    for (const { value, placeholder } of served.#secrets.values()) this.hideAs(value, placeholder)
  }

  /** Like `add`, for one that may be known by another name, or be a placeholder already: then it keeps it. */
  learn(name: string, value: string): void {
    if (this.#withoutKnown(value) === value && !value.includes(HIDDEN)) this.add(name, value)
  }

  /** Secrets that a child process is handed in its environment, `NAME=value` each. */
  learnEnvironment(pairs: readonly string[]): void {
    for (const pair of pairs) {
      const at = pair.indexOf('=')
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
      if (at > 0 && containsSecret(name, value)) this.learn(name, value)
    }
  }

  /** Hides a value that has no name, like a cookie's, behind as many `x`. */
  hide(value: string): void {
    if (value.length < SHORTEST_SECRET) return
    const placeholder = 'x'.repeat(value.length)
    if (value !== placeholder) this.hideAs(value, placeholder)
  }

  /** Not a secret, but the same work: a replay in another folder names its paths as the recording did. */
  nameAsRecorded({ recorded, current }: MovedRoot): void {
    const url = (folder: string): string => pathToFileURL(folder).href
    const pairs = [
      [url(current), url(recorded)],
      [current, recorded],
    ] as const
    for (const [value, placeholder] of pairs) this.hideAs(value, placeholder)
  }

  /** The variables of this process, which are looked through again only when they may have changed. */
  addProcessEnvironment(): void {
    const nowMs = natives.performanceNow()
    const ageMs = nowMs - processSecrets.readAtMs
    if (processSecrets.mask === undefined || ageMs < 0 || ageMs > VARIABLES_FRESH_MS) {
      processSecrets.mask = new SecretMask()
      processSecrets.mask.addEnvironment(natives.env)
      processSecrets.readAtMs = nowMs
    }
    for (const [value, secret] of processSecrets.mask.#secrets) this.#secrets.set(value, secret)
  }

  addEnvironment(env: NodeJS.ProcessEnv): void {
    for (const [name, value] of Object.entries(env)) {
      if (value !== undefined && isSecretVariable(name, value)) this.add(name, value)
    }
  }

  text(text: string): string {
    return maskKeys(this.#withoutKnown(text))
  }

  #withoutKnown(text: string): string {
    let masked = text
    for (const { value, placeholder } of this.#secrets.values()) {
      if (masked.includes(value)) masked = masked.replaceAll(value, placeholder)
    }
    return masked
  }

  /**
   * A text of a tape with the secrets of this process in it. A placeholder that could
   * stand for two of them stays: nobody shall be told the secret of another.
   */
  reveal(text: string): string {
    if (!text.includes(HIDDEN)) return text
    const known = [...this.#secrets.values()].filter(({ placeholder }) =>
      placeholder.includes(HIDDEN),
    )
    let revealed = text
    for (const one of known) {
      const isAmbiguous = known.some(
        (other) => other !== one && other.placeholder.includes(one.placeholder),
      )
      if (!isAmbiguous) revealed = revealed.replaceAll(one.placeholder, () => one.value)
    }
    return revealed
  }

  /** Returns the same object if it contains no secret. */
  bytes(bytes: Uint8Array): Uint8Array {
    if (bytes.length < SHORTEST_SECRET) return bytes
    const given = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let buffer = given
    for (const { needle, placeholder } of this.#secrets.values()) {
      if (buffer.indexOf(needle) >= 0) buffer = replaceAll(buffer, needle, Buffer.from(placeholder))
    }
    // As latin1 every byte is one character, so that bytes that are not text stay what they are.
    const text = buffer.toString('latin1')
    const masked = maskKeys(text)
    if (masked !== text) return Buffer.from(masked, 'latin1')
    return buffer === given ? bytes : buffer
  }
}

/** Code that took `process.env` before Retake was loaded, and native code, change it unseen. */
const VARIABLES_FRESH_MS = 1000
const processSecrets: { mask: SecretMask | undefined; readAtMs: number } = {
  mask: undefined,
  readAtMs: 0,
}

/** Call after a variable of this process was changed. */
export function variablesChanged(): void {
  processSecrets.mask = undefined
}

const SHORTEST_SECRET = 8
const HIDDEN = 'retake-hidden'
/** Every text that may be a placeholder; the name in it is cut to the length of the secret. */
export const PLACEHOLDER = /retake-h[\w.-]*|x{8,}/g

/**
 * Placeholder for a secret variable, on the tape and in a replayed environment.
 * It keeps the shape that programs check: a URL stays a URL, JSON stays JSON, a
 * short prefix like `sk-` stays. It also keeps the length, so that what counts
 * the bytes around it, like HTTP, still comes out right.
 */
export function placeholderFor(name: string, value: string): string {
  const hidden = `retake-hidden-${name}`
  const whole = fit(hidden, value)
  if (value === whole) return value
  const url = urlOf(value)
  if (url?.password) return hidePart(value, url.password, hidden) ?? whole
  if (url) return hidePart(value, /:\/\/[^/?#]*[/?#](.*)/s.exec(value)?.[1] ?? '', hidden) ?? whole
  // A private key keeps its lines.
  if (value.trimStart().startsWith('-----BEGIN ') && hasKeyShape(value)) return maskKeys(value)
  if (value.startsWith('{')) return hideLeaves(value, hidden) ?? whole
  const prefix = /^[a-z]{2,6}[-_]/i.exec(value)?.[0] ?? ''
  return prefix + fit(hidden, value.slice(prefix.length))
}

/** `hidden`, as long as the secret in bytes. */
function fit(hidden: string, secret: string): string {
  const length = Buffer.byteLength(secret)
  return hidden.slice(0, length).padEnd(length, 'x')
}

/** Undefined when the part does not stand in the text as it is. */
function hidePart(text: string, part: string, hidden: string): string | undefined {
  if (part === '') return text
  return text.includes(part) ? text.replaceAll(part, fit(hidden, part)) : undefined
}

function urlOf(value: string): URL | undefined {
  return value.includes('://') && URL.canParse(value) ? new URL(value) : undefined
}

function hideLeaves(json: string, hidden: string): string | undefined {
  const leaves = new Set<string>()
  try {
    JSON.parse(json, (_, leaf: unknown) => {
      if (typeof leaf === 'string' && leaf.length >= SHORTEST_SECRET)
        leaves.add(JSON.stringify(leaf).slice(1, -1))
      return leaf
    })
  } catch {
    return undefined
  }
  let masked: string | undefined = json
  for (const leaf of leaves) masked &&= hidePart(masked, leaf, hidden)
  return masked
}

const SECRET_NAME =
  /key|token|secret|passw|passphrase|credential|private|cookie|_pat$|^pat$|dsn$|database_url|connection_?string|webhook/i
/** Short words that mean a secret only as a whole word between underscores. */
const SECRET_WORD =
  /(?:^|[_-])(?:pass|pwd|pw|jwt|auth|pin|sk|otp|totp|bearer|hmac|salt|creds?|signing)(?:$|[_-])/i
const NOT_SECRET =
  /^(npm_|PATH$|PWD$|OLDPWD$|.*KEYBOARD|.*KEYMAP|TOKENIZERS_|.*_TOKENS?_(LIMIT|MAX)|MAX_TOKENS?)/i
/** A secret word with one of these after it names a setting: `SSH_AUTH_SOCK`, `AUTH_URL`. */
const SETTING =
  /[_-](?:url|uri|host|port|type|mode|method|file|path|dir|sock|socket|name|user|username|ttl|timeout|enabled|disabled|length|size|count|limit|rounds|required|provider|scheme|domain|agent_pid)$/i

/** True if a variable of this name probably contains a secret. */
export const looksSecret = (name: string): boolean =>
  !NOT_SECRET.test(name) &&
  (SECRET_NAME.test(name) || (SECRET_WORD.test(name) && !SETTING.test(name)))

/** Values of settings. Replacing these words wherever they appear would damage a tape. */
const SETTING_VALUE =
  /^(?:true|false|yes|no|on|off|none|null|undefined|default|auto|always|never|enabled|disabled|required|optional|development|production|staging|localhost|basic|bearer|digest|oauth2?|anonymous)$/i

/**
 * By the name of its variable, or by the value itself: an address with a password, a known
 * shape of key, a private key, or a long text that looks random.
 */
export const containsSecret = (name: string, value: string): boolean =>
  (looksSecret(name) && !SETTING_VALUE.test(value)) ||
  (urlOf(value)?.password ?? '') !== '' ||
  (!name.startsWith('npm_') && hasKeyShape(value)) ||
  (!DIGEST_NAME.test(name) && looksRandom(value))

const verdicts = new Map<string, { readonly value: string; readonly isSecret: boolean }>()

/** `containsSecret` for a variable of this process: every run looks at all of them, and they hardly change. */
export function isSecretVariable(name: string, value: string): boolean {
  const known = verdicts.get(name)
  if (known?.value === value) return known.isSecret
  const isSecret = containsSecret(name, value)
  verdicts.set(name, { value, isSecret })
  return isSecret
}

/** Variables that hold a digest, a version or an id, which look random and are not secret. */
const DIGEST_NAME =
  /(?:^|_)(?:sha\d*|hash|digest|checksum|commit|revision|rev|ref|version|build|uuid|id)$|^npm_/i
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i

/**
 * A single token with 20 characters in a row that mix upper case, lower case and digits, or
 * with 32 hexadecimal ones. Names of models, hosts and files have shorter parts. Only for
 * values of variables: bodies are full of ids and digests that look the same.
 */
function looksRandom(value: string): boolean {
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

/** The environment as it may stand on a tape: secret values replaced by placeholders. */
export function maskedEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const masked: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || name.startsWith('RETAKE_')) continue
    masked[name] = maskVariable(name, value)
  }
  return masked
}

/** The value of a variable in the form that is safe on a tape. */
export const maskVariable = (name: string, value: string): string =>
  value !== '' && isSecretVariable(name, value) ? placeholderFor(name, value) : value

/** Variables of a `.env` file whose names look secret. */
export function secretsOfEnvFile(text: string): { name: string; value: string }[] {
  const found: { name: string; value: string }[] = []
  for (const line of text.split('\n')) {
    const match = /^\s*(?:export\s+)?([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s#]*))/.exec(line)
    const value = match?.[2] ?? match?.[3] ?? match?.[4]
    if (match?.[1] && value && looksSecret(match[1])) found.push({ name: match[1], value })
  }
  return found
}

/** Texts in a JSON file whose names look secret, or are those of headers with a key. Comments may stand in it. */
export function secretsOfJsonFile(text: string): { name: string; value: string }[] {
  const found: { name: string; value: string }[] = []
  for (const [, name = '', value = ''] of text.matchAll(/"([^"\\]+)"\s*:\s*"([^"\\]+)"/g))
    if (looksSecret(name) || /^authorization$/i.test(name))
      found.push({ name, value: value.replace(/^(bearer|basic|token)\s+/i, '') })
  return found
}

function replaceAll(buffer: Buffer, needle: Buffer, replacement: Buffer): Buffer {
  const parts: Buffer[] = []
  let from = 0
  for (let at = buffer.indexOf(needle); at >= 0; at = buffer.indexOf(needle, from)) {
    parts.push(buffer.subarray(from, at), replacement)
    from = at + needle.length
  }
  parts.push(buffer.subarray(from))
  return Buffer.concat(parts)
}
