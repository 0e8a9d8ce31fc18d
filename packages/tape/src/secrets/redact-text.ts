import { decodeBase64, encodeBase64 } from './known-values.js'
import {
  isPlaceholder,
  isRandom,
  isWordsAndNumber,
  looksGenerated,
  namedSecrets,
  ownText,
  UUID,
} from './named-secrets.js'
import { KEY_PREFIXES, maskKeys, maskPhrases, maskTokens } from './key-shapes.js'

/**
 * Finds unknown secrets by their text: keys by their shape, also inside base64, hex and URLs, and
 * random values after a name such as `api_key`, and words in base64 or hex that look like a password
 * or token. Every recorded body passes through here. Long runs of letters and digits are rare in
 * most texts, so most checks look only at those. Not promised: a key that is encoded twice is only
 * found as base64 in a URL.
 */
export function redactText(text: string, onNamed?: OnNamed): string {
  const masked = hideNamedValues(hideBulkStrings(maskEscaped(maskPhrases(text)), onNamed), onNamed)
  let redacted = ''
  let from = 0
  let end = 0
  for (let start = startOfRun(masked, 0); start >= 0; start = startOfRun(masked, end)) {
    end = start + SHORTEST_RUN
    while (end < masked.length && isInRun(masked.charCodeAt(end))) end += 1
    const isInQuotes =
      masked.charCodeAt(start - 1) === QUOTATION && masked.charCodeAt(end) === QUOTATION
    if (isInQuotes && plainNames.has(masked.slice(start, end))) continue
    const key = maskTokens(masked, start, end)
    // A key with dots goes on after the run.
    end = Math.max(end, key?.end ?? 0)
    const found = masked.slice(start, end)
    const word = key?.text ?? found
    const hidden =
      hideNamed(masked, start, word, onNamed) ??
      hideEncodedWord(masked, start, word, onNamed) ??
      hideEncoded(word)
    if (hidden === found) {
      if (isInQuotes) rememberPlainName(found)
      continue
    }
    redacted += masked.slice(from, start) + hidden
    from = end
  }
  return from === 0 ? masked : redacted + masked.slice(from)
}

const QUOTATION = 34
/**
 * Words in quotes that are no secret, whatever is around them: long names of members, which every
 * answer repeats.
 */
const plainNames = new Set<string>()
const PLAIN_NAMES_MAX = 1000

/** `word` contains no key; it could still be one in base64, which also depends on the name before it. */
function rememberPlainName(word: string): void {
  if (plainNames.size >= PLAIN_NAMES_MAX || !/^[a-z_]{16,48}$/.test(word)) return
  if (!IN_BASE64.beginsWithText(word) && !IN_HEX.beginsWithText(word)) plainNames.add(ownText(word))
}

/**
 * Returns the placeholder of a value that was found by the name before it; it must have the length
 * of the value.
 */
export type OnNamed = (name: string, value: string) => string

/**
 * A string of Redis with a random value: its key, which may name it, is in another message. UUIDs,
 * digests and JSON are not hidden.
 */
function hideBulkStrings(text: string, onNamed: OnNamed | undefined): string {
  if (!text.includes('\r\n') || !text.includes('$')) return text
  return text.replaceAll(BULK_STRING, (all, head: string, length: string, value: string) =>
    value.length === Number(length) && isRandom(value) && !/^[\da-f]+$/i.test(value)
      ? head + (onNamed?.('value', value) ?? hiddenKey('value', value))
      : all,
  )
}

const BULK_STRING = /((?<![^\r\n])\$(\d{2,3})\r\n)([\w+/=.-]{32,512})(?=\r\n)/g

function hideNamedValues(text: string, onNamed: OnNamed | undefined): string {
  let masked = ''
  let from = 0
  for (const { name, start, end } of namedSecrets(text)) {
    const value = text.slice(start, end)
    masked += text.slice(from, start) + (onNamed?.(name, value) ?? hiddenKey(name, value))
    from = end
  }
  return from === 0 ? text : masked + text.slice(from)
}

/** A key keeps its prefix, because programs and people recognise it by that. */
function hiddenKey(name: string, value: string): string {
  const masked = maskKeys(value)
  return masked === value
    ? `retake-hidden-${name}`.slice(0, value.length).padEnd(value.length, 'x')
    : masked
}

// ── runs ────────────────────────────────────────────────────────────────────

const SHORTEST_RUN = 16
const SHORTEST_VALUE = 20
const IN_RUN = Uint8Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9+/_-]/.test(String.fromCharCode(code)) ? 1 : 0,
)
const isInRun = (code: number): boolean => code < 128 && IN_RUN[code] === 1

/** Start of the next long run at or after `from`; -1 if there is none. Skips most characters of a text. */
function startOfRun(text: string, from: number): number {
  const { length } = text
  let at = from + SHORTEST_RUN - 1
  while (at < length) {
    if (!isInRun(text.charCodeAt(at))) {
      at += SHORTEST_RUN
      continue
    }
    let start = at
    while (start > from && isInRun(text.charCodeAt(start - 1))) start -= 1
    if (at - start >= SHORTEST_RUN - 1) return start
    at = start + SHORTEST_RUN - 1
  }
  return -1
}

// ── random values after a name ──────────────────────────────────────────────

const SECRET_NAME =
  /key|token|secret|passw|passphrase|credential|private|cookie|_pat$|^pat$|dsn$|database_url|connection_?string|webhook/i
/** Short words that mean a secret only as a whole word between underscores. */
const SECRET_WORD =
  /(?:^|[_-])(?:pass|pwd|pw|jwt|auth|pin|sk|otp|totp|bearer|hmac|salt|creds?|signing)(?:$|[_-])/i
const NOT_SECRET =
  /^(npm_|PATH$|PWD$|OLDPWD$|.*KEYBOARD|.*KEYMAP|TOKENIZERS_|.*_TOKENS?_(LIMIT|MAX)|MAX_TOKENS?)/i
/** A secret word followed by one of these names a setting: `SSH_AUTH_SOCK`, `AUTH_URL`. */
const SETTING =
  /[_-](?:url|uri|host|port|type|mode|method|file|path|dir|sock|socket|name|user|username|ttl|timeout|enabled|disabled|length|size|count|limit|rounds|required|provider|scheme|domain|agent_pid)$/i

/** Where a secret is, or how long: `PASSWORD_FILE`. The address of a webhook is one itself. */
const ABOUT_SECRET =
  /^(?!.*(?:webhook|database|connection)).*(?:_(?:FILE|PATH|DIR|UR[LI]|LENGTH|MIN|MAX|TTL)|(?:SORT|PARTITION)_KEY)$/i

/** True if a variable of this name probably contains a secret. */
export const looksSecret = (name: string): boolean =>
  !NOT_SECRET.test(name) &&
  !ABOUT_SECRET.test(name) &&
  (SECRET_NAME.test(name) || (SECRET_WORD.test(name) && !SETTING.test(name)))

/** Names in bodies whose values only look like secrets. */
const NOT_SECRET_IN_TEXT =
  /public|page|next|prev|cursor|cache|idempoten|partition|sort|primary|foreign|continuation|sync|fingerprint|keyboard|keyword|keyframe|monkey|[_-]?ids?$|hash|digest|sha\d|integrity|checksum|etag|^keys?$|\.(?:[cm]?[jt]sx?|json|md|py|go|rs|rb|html|css|ya?ml|toml|lock|txt|tape)$/i

const ESCAPED_NAME =
  /([A-Za-z][\w.-]{1,63})(?:\\*["'`]|%22|%5C)*\s{0,4}(?:=>|[:=]|%3[AD])\s{0,4}(?:\\*["'`]|%22|%20|%5C)*(?:(?:bearer|basic|token)(?:\s|%20))?$/i
const SCHEME = /(?:bearer|basic|token)\s$/i

/** `api_key` in `"api_key": "`, `api_key=` and `api_key: Bearer `; empty if there is no name. */
function nameBefore(text: string, start: number): string {
  let at = start - 1
  if (text[at] === ' ' && SCHEME.test(text.slice(Math.max(0, start - 8), start)))
    at = start - (SCHEME.exec(text.slice(start - 8, start))?.[0].length ?? 0) - 1
  at = skipBack(text, at, QUOTE)
  const sign = skipBack(text, at, SIGN)
  if (sign === at) return ''
  const end = skipBack(text, sign, QUOTE)
  return text.slice(skipBack(text, end, NAME) + 1, end + 1)
}

/** Kinds of characters before a value. */
const [QUOTE, SIGN, NAME] = [1, 2, 4]
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/["'`\\ \t]/.test(character)) return QUOTE
  return /[>=:]/.test(character) ? SIGN : /[\w.-]/.test(character) ? NAME : 0
})

/** Position before the characters of one kind that end at `at`; names are the longest. */
function skipBack(text: string, at: number, kind: number): number {
  let before = at
  const last = Math.max(-1, at - 64)
  while (before > last && (KINDS[text.charCodeAt(before) & 127] ?? 0) === kind) before -= 1
  return before
}

/** Undefined if the run has no name before it, or does not look random. */
function hideNamed(
  text: string,
  start: number,
  run: string,
  onNamed: OnNamed | undefined,
): string | undefined {
  // The end of an escape before the value looks like part of it.
  const escape = text[start - 1] === '%' ? 2 : 0
  const value = run.slice(escape)
  if (value.length < SHORTEST_VALUE || !MAY_PRECEDE.has(text[start - 1] ?? '')) return undefined
  const name =
    escape > 0
      ? (ESCAPED_NAME.exec(text.slice(Math.max(0, start - 96), start + escape))?.[1] ?? '')
      : nameBefore(text, start)
  if (name === '' || !namesSecret(name) || !isRandom(value)) return undefined
  const hidden = onNamed?.(name, value) ?? `retake-hidden-${name}`.slice(0, value.length)
  return run.slice(0, escape) + hidden.padEnd(value.length, 'x')
}

const known = new Map<string, boolean>()
const KNOWN_MAX = 1000

/** Cached, because bodies repeat the same names. */
function namesSecret(name: string): boolean {
  let verdict = known.get(name)
  if (verdict !== undefined) return verdict
  verdict = (looksSecret(name) || /^authorization$/i.test(name)) && !NOT_SECRET_IN_TEXT.test(name)
  if (known.size < KNOWN_MAX) known.set(ownText(name), verdict)
  return verdict
}

const MAY_PRECEDE = new Set(['"', "'", '`', '=', ':', ' ', '\t', '%', '>'])

// ── keys inside base64 and hex ──────────────────────────────────────────────

/** The shortest key, in base64. */
const SHORTEST_ENCODED = 26
const SHORTEST_HEX = 38
/** Characters of a run that are decoded around the start of a key; private keys are the longest. */
const DECODED_MAX = 24_000
/** A longer run that does not start like text is binary data, such as an image or an archive. */
const BINARY_RUN = 4096

interface Anchor {
  /** The prefix in base64, without characters that also contain bits of its neighbours. */
  readonly text: string
  /** Number of bytes before the prefix in its group of three. */
  readonly before: number
}

interface Anchors {
  /** The prefixes in base64, by their first three characters. */
  readonly byStart: ReadonlyMap<number, readonly Anchor[]>
  /** 1 where `byStart` has an entry with these last 16 bits. */
  readonly table: Uint8Array
}
let anchors: Anchors | undefined

/** Made once, when the first encoded text is searched: most programs that load this have none. */
function makeAnchors(): Anchors {
  const byStart = new Map<number, Anchor[]>()
  for (const prefix of new Set([...KEY_PREFIXES, '-----BEGIN', '://']))
    for (const before of [0, 1, 2]) {
      const bytes = new TextEncoder().encode('\0'.repeat(before) + prefix)
      const start = Math.ceil((before * 8) / 6)
      const end = Math.floor((bytes.length * 8) / 6)
      const text = encodeBase64(bytes, false).slice(start, end)
      const anchor = anchorAt(text, 0)
      byStart.set(anchor, [...(byStart.get(anchor) ?? []), { text, before }])
    }
  const table = new Uint8Array(1 << 16)
  for (const anchor of byStart.keys()) table[anchor & 0xffff] = 1
  return { byStart, table }
}

function anchorAt(text: string, at: number): number {
  return (text.charCodeAt(at) << 14) ^ (text.charCodeAt(at + 1) << 7) ^ text.charCodeAt(at + 2)
}

/** Hides keys that a run of characters contains in base64 or hex. */
function hideEncoded(run: string): string {
  if (run.length < SHORTEST_ENCODED) return run
  const isHex = HEX.test(run)
  const named = hideNamedInside(run, isHex)
  if (named !== run) return named
  if (run.length >= SHORTEST_HEX && isHex) return hideInHex(run)
  const isBinary =
    run.length > BINARY_RUN &&
    decodeBase64(run.slice(0, 96)).some(
      (byte) => byte < 9 || (byte > 13 && byte < 32) || byte === 127,
    )
  if (isBinary) return run
  const { byStart, table } = (anchors ??= makeAnchors())
  let hidden = run
  let from = 0
  for (let at = 0; at + SHORTEST_ENCODED - 4 < run.length; at++) {
    const anchor = anchorAt(run, at)
    if (table[anchor & 0xffff] === 0) continue
    const before = byStart.get(anchor)?.find(({ text }) => run.startsWith(text, at))?.before
    if (before === undefined) continue
    // Includes one more group: a letter before a prefix makes it part of a word.
    const exact = at - ([0, 2, 3][before] ?? 0)
    const start = exact >= from + 4 ? exact - 4 : exact
    if (start < from) continue
    const piece = hidden.slice(start, start + DECODED_MAX)
    const masked = maskInside(piece)
    if (masked === piece) continue
    hidden = hidden.slice(0, start) + masked + hidden.slice(start + piece.length)
    from = at + 1
  }
  return hidden
}

const ENCODED_TEXT_MAX = 16_384

/** A whole text in base64 or hex, such as `password=…` or JSON. Ids and digests decode to binary data. */
function hideNamedInside(run: string, isHex: boolean): string {
  if (run.length > ENCODED_TEXT_MAX) return run
  const encoding = run.length % 2 === 0 && isHex ? IN_HEX : IN_BASE64
  // Most runs end here: the start of an id is no text.
  if (!encoding.beginsWithText(run)) return run
  const text = encoding.decode(run)
  if (!PRINTABLE.test(text)) return run
  const masked = hideNamedValues(text, undefined)
  return masked === text
    ? run
    : encoding.encode(masked, run).slice(0, run.length).padEnd(run.length, 'A')
}

const PRINTABLE = /^[\t\n\r -~]+$/

/** `base64` must start with a whole group. */
function maskInside(base64: string): string {
  const bytes = decodeBase64(base64)
  const text = latin1(bytes)
  const masked = maskKeys(text)
  if (masked === text) return base64
  const whole = Math.floor(base64.length / 4) * 4
  const encoded = encodeBase64(bytesOf(masked), /[-_]/.test(base64))
  return encoded.slice(0, base64.length).padEnd(base64.length, base64.slice(whole) || 'A')
}

const HEX = /^(?:[\da-f]+|[\dA-F]+)$/

function hideInHex(run: string): string {
  for (const skipped of [0, 1]) {
    const digits = run.slice(skipped, run.length - ((run.length - skipped) % 2))
    const text = IN_HEX.decode(digits)
    const masked = maskKeys(text)
    if (masked === text) continue
    const hex = IN_HEX.encode(masked, run)
    return run.slice(0, skipped) + hex + run.slice(skipped + hex.length)
  }
  return run
}

interface Encoding {
  /** Matches what may decode to printable ASCII. */
  readonly ascii: RegExp
  /** True if the first eight characters decode to printable ASCII, tabs and line ends. */
  readonly beginsWithText: (run: string) => boolean
  decode(run: string): string
  /** In the alphabet of `like`. */
  encode(text: string, like: string): string
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const digitsWhere = (fits: (digit: number) => boolean): string =>
  `[${Array.from(BASE64)
    .filter((_, digit) => fits(digit))
    .join('')}]`
/** The six bits of each character, in both alphabets. */
const DIGITS = new Uint8Array(128)
for (const [digit, character] of Array.from(BASE64).entries())
  DIGITS[character.charCodeAt(0)] = digit
DIGITS['-'.charCodeAt(0)] = DIGITS['+'.charCodeAt(0)] ?? 0
DIGITS['_'.charCodeAt(0)] = DIGITS['/'.charCodeAt(0)] ?? 0
const digitAt = (run: string, at: number): number => DIGITS[run.charCodeAt(at) & 127] ?? 0

const isTextByte = (byte: number): boolean =>
  (byte >= 32 && byte < 127) || byte === 9 || byte === 10 || byte === 13

/** Six bits each, of bytes from 0x20 to 0x7f. */
const [FIRST, SECOND, THIRD] = [
  digitsWhere((digit) => digit >= 8 && digit < 32),
  digitsWhere((digit) => (digit & 15) >= 2 && (digit & 15) < 8),
  digitsWhere((digit) => (digit & 3) < 2),
]

const IN_BASE64: Encoding = {
  ascii: new RegExp(`^(?:${FIRST}${SECOND}${THIRD}.)*(?:${FIRST}.${THIRD}?)?$`),
  beginsWithText(run) {
    for (let at = 0; at < 8; at += 4) {
      const bits =
        (digitAt(run, at) << 18) |
        (digitAt(run, at + 1) << 12) |
        (digitAt(run, at + 2) << 6) |
        digitAt(run, at + 3)
      if (!isTextByte(bits >> 16) || !isTextByte((bits >> 8) & 255) || !isTextByte(bits & 255))
        return false
    }
    return true
  },
  decode: (run) => latin1(decodeBase64(run)),
  encode: (text, like) => encodeBase64(bytesOf(text), /[-_]/.test(like)),
}

const IN_HEX: Encoding = {
  ascii: /^(?:(?:[2-7][\da-f])+|(?:[2-7][\dA-F])+)$/,
  beginsWithText: (run) => /^(?:0[9ad]|[2-6][\da-f]|7[\da-e]){4}/i.test(run),
  decode: (run) => run.replaceAll(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16))),
  encode(text, like) {
    const digits = Array.from(text, (each) => each.charCodeAt(0).toString(16).padStart(2, '0'))
    return /[A-F]/.test(like) ? digits.join('').toUpperCase() : digits.join('')
  },
}

function latin1(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 0x2000)
    text += String.fromCharCode(...bytes.subarray(at, at + 0x2000))
  return text
}

const bytesOf = (text: string): Uint8Array =>
  Uint8Array.from(text, (character) => character.charCodeAt(0))

// ── passwords and tokens in base64 and hex ──────────────────────────────────

/**
 * Hides base64 or hex of one word that looks like a password or token, whatever its name; undefined
 * for everything else. This is safe because texts rarely decode to one word by accident: of 1,800,000
 * long words in code and prose, none decodes to one that is hidden here.
 *
 * Not promised: a word at the end of a text, because a chunk may end inside it; words of more than 48
 * characters, which are usually positions or states that a service encoded twice; UUIDs in base64,
 * which is how some services write their ids.
 */
function hideEncodedWord(
  text: string,
  start: number,
  run: string,
  onNamed: OnNamed | undefined,
): string | undefined {
  if (run.length > ENCODED_WORD_MAX) return undefined
  // Most runs end here.
  const encoding = [IN_HEX, IN_BASE64].find(
    ({ beginsWithText, ascii }) => beginsWithText(run) && ascii.test(run),
  )
  if (encoding === undefined) return undefined
  if (start > 0 && !BEFORE_WORD.test(text[start - 1] ?? '')) return undefined
  if (!AFTER_WORD.test(text.slice(start + run.length, start + run.length + 3))) return undefined
  const word = encoding.decode(run)
  if (!(UUID.test(word) ? encoding === IN_HEX : isSecretWord(word))) return undefined
  // Bits that are left over mean that it is not an encoding.
  if (encoding.encode(word, run) !== run) return undefined
  const name = nameBefore(text, start) || 'value'
  if (NOT_SECRET_IN_TEXT.test(name) || GENERATED_NAME.test(name)) return undefined
  const hidden = onNamed?.(name, word) ?? hiddenKey(name, word)
  return hidden.length === word.length ? encoding.encode(hidden, run) : undefined
}

function isSecretWord(word: string): boolean {
  if (word.length < ENCODED_LETTERS_MIN || word.length > ENCODED_LETTERS_MAX) return false
  if (!/^[\w!@#$%^&*+=~-]+$/.test(word) || /^[\da-f]+$/i.test(word)) return false
  if (word.startsWith('eyJ') || isPlaceholder(word)) return false
  return isWordsAndNumber(word) || looksGenerated(word, 16, 4)
}

/** Random values that a program compares with what it gets back. */
const GENERATED_NAME = /nonce|state$|challenge|boundary|etag|offset|version|revision|trace|span/i
const ENCODED_LETTERS_MIN = 12
const ENCODED_LETTERS_MAX = 48
const ENCODED_WORD_MAX = ENCODED_LETTERS_MAX * 2
const BEFORE_WORD = /[\s"'`=:,;(<>|[]/
/** Also an escaped `=`. */
const AFTER_WORD = /^={0,2}[\s"'`\\&,;%)<>|\]]/

// ── keys in URLs ────────────────────────────────────────────────────────────

/** Most keys look the same in a URL; passwords in addresses and private keys do not. */
function maskEscaped(text: string): string {
  if (!text.includes('%')) return text
  // The digits of an escape are not part of the word that follows it.
  let masked = text.replaceAll(AFTER_ESCAPE, (run) => maskKeys(run))
  if (/%3a%2f%2f/i.test(masked)) masked = masked.replaceAll(ESCAPED_PASSWORD, hideEscaped)
  if (masked.includes('PRIVATE')) masked = masked.replaceAll(ESCAPED_KEY, hideEscaped)
  return masked
}

const AFTER_ESCAPE = /(?<=%[\da-f]{2})[\w.-]{16,}/gi
const ESCAPED_PASSWORD =
  /(%3a%2f%2f(?:[\w.~+-]|%(?!40|3a)[\da-f]{2}){0,64}%3a)((?:[\w.~!*'()-]|%(?!40)[\da-f]{2}){3,128})(?=%40)/gi
const ESCAPED_KEY =
  /(-----BEGIN(?:(?:%20|\+)[A-Z]{1,12}){0,3}(?:%20|\+)PRIVATE(?:%20|\+)KEY(?:(?:%20|\+)BLOCK)?-----)([^-]{16,32768})(?=-----END)/g

/** Equals masking before escaping, because a program that has the placeholder would escape it. */
function hideEscaped(_: string, before: string, secret: string): string {
  if (secret.startsWith('retake-h')) return before + secret
  if (before.startsWith('-----'))
    return (
      before +
      secret
        .replaceAll(/%2b|%2f|%3d/gi, 'x')
        .replaceAll(/%[\da-f]{2}|[A-Za-z0-9+/=]/gi, (part) => (part.length === 3 ? part : 'x'))
    )
  const { length } = secret.replaceAll(/%[\da-f]{2}/gi, '.')
  return before + 'retake-hidden'.slice(0, length).padEnd(length, 'x')
}
