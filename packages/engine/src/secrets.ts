import { pathToFileURL } from 'node:url'
import type { MovedRoot } from './process-task.js'

/**
 * Keeps secret values off the tape. A secret is replaced by a placeholder that
 * names it; a replayed process gets that placeholder as the variable's value,
 * so what it sends still matches what was stored, byte for byte.
 *
 * Not promised: a secret split over two chunks, encoded (base64, URL-escaped)
 * or shorter than eight characters is not recognised.
 */
export class SecretMask {
  readonly #secrets = new Map<string, { needle: Buffer; value: string; placeholder: string }>()

  add(name: string, value: string): void {
    const placeholder = placeholderFor(name, value)
    if (value.length < SHORTEST_SECRET || value === placeholder) return
    this.#secrets.set(value, { needle: Buffer.from(value), value, placeholder })
    const { password } = urlOf(value) ?? {}
    if (password) this.add(`${name}_PASSWORD`, decodeURIComponent(password))
  }

  /** Like `add`, for one that may be known by another name, or be a placeholder already: then it keeps it. */
  learn(name: string, value: string): void {
    if (this.text(value) === value && !value.includes('retake-hidden')) this.add(name, value)
  }

  /** Secrets that a child process is handed in its environment, `NAME=value` each. */
  learnEnvironment(pairs: readonly string[]): void {
    for (const pair of pairs) {
      const at = pair.indexOf('=')
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
      if (at > 0 && holdsSecret(name, value)) this.learn(name, value)
    }
  }

  /** Hides a value that has no name, like a cookie's, behind as many `x`. */
  hide(value: string): void {
    if (value.length < SHORTEST_SECRET) return
    const placeholder = 'x'.repeat(value.length)
    if (value !== placeholder)
      this.#secrets.set(value, { needle: Buffer.from(value), value, placeholder })
  }

  /** Not a secret, but the same work: a replay in another folder names its paths as the recording did. */
  nameAsRecorded({ recorded, current }: MovedRoot): void {
    const url = (folder: string): string => pathToFileURL(folder).href
    const pairs = [
      [url(current), url(recorded)],
      [current, recorded],
    ] as const
    for (const [value, placeholder] of pairs)
      this.#secrets.set(value, { needle: Buffer.from(value), value, placeholder })
  }

  addEnvironment(env: NodeJS.ProcessEnv): void {
    for (const [name, value] of Object.entries(env)) {
      if (value !== undefined && holdsSecret(name, value)) this.add(name, value)
    }
  }

  text(text: string): string {
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

  bytes(bytes: Uint8Array): Uint8Array {
    if (this.#secrets.size === 0 || bytes.length < SHORTEST_SECRET) return bytes
    let buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (const { needle, placeholder } of this.#secrets.values()) {
      if (buffer.indexOf(needle) >= 0) buffer = replaceAll(buffer, needle, Buffer.from(placeholder))
    }
    return buffer
  }
}

const SHORTEST_SECRET = 8
const HIDDEN = 'retake-hidden'
/** Every text that may be a placeholder; the name in it is cut to the length of the secret. */
export const PLACEHOLDER = /retake-h[\w.-]*|x{8,}/g

/**
 * What stands on the tape, and in a replayed environment, for a secret variable.
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
const NOT_SECRET =
  /^(npm_|PATH|.*_KEYBOARD|.*KEYMAP|TOKENIZERS_|.*_TOKENS?_(LIMIT|MAX)|MAX_TOKENS?)/i

/** Whether a variable of this name probably holds a secret. */
export const looksSecret = (name: string): boolean =>
  SECRET_NAME.test(name) && !NOT_SECRET.test(name)

/** By its name, or because it is an address with a password, like that of a proxy. */
export const holdsSecret = (name: string, value: string): boolean =>
  looksSecret(name) || (urlOf(value)?.password ?? '') !== ''

/** The environment as it may stand on a tape: secret values replaced by placeholders. */
export function maskedEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const masked: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || name.startsWith('RETAKE_')) continue
    masked[name] = holdsSecret(name, value) && value !== '' ? placeholderFor(name, value) : value
  }
  return masked
}

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
