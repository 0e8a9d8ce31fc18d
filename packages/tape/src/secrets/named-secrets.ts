import { foreignValues } from './foreign-names.js'

/**
 * Finds secrets by the name before them: members of JSON, parameters of forms and addresses,
 * headers, lines of `.env` files, options of commands, parts of multipart bodies, pairs such as
 * `{"name": "password", "value": "…"}`, XML, SQL, and sentences.
 *
 * After a name that says password, any value counts where the form leaves no doubt; in code and
 * prose, it must not be a word. After other names, such as `token`, a value must look generated.
 * Not promised: numbers that are not in quotes.
 */
export interface NamedSecret {
  readonly name: string
  readonly start: number
  readonly end: number
}

/**
 * `data`: the form shows that this is a value. Otherwise, it may be code: a `literal` in quotes, or a
 * `word`; or a value in quotes in a `sentence`.
 */
type Form = 'data' | 'literal' | 'word' | 'sentence'
type Strength = 'password' | 'secret' | 'code' | 'cookie' | 'authorization' | 'none'

/** The secrets in a text, in order. */
export function namedSecrets(text: string): NamedSecret[] {
  const secrets: NamedSecret[] = []
  let from = 0
  const { codes, isAscii } = codesOf(text)
  let searched = 0
  for (
    let hit = triggerAt(text, codes, 0);
    hit !== undefined;
    hit = triggerAt(text, codes, searched)
  ) {
    const at = hit.index
    let start = at
    while (start > 0 && at - start < NAME_MAX && isNameCode(text.charCodeAt(start - 1))) start -= 1

    // The digits of an escape are not part of the name.
    if (text[start - 1] === '%' && /^(?:3F|26|22|5B|20|2C|7B)/i.test(text.slice(start, start + 2)))
      start += 2
    if (text[start - 1] === '\\' && /^[nrt]/.test(text[start] ?? '')) start += 1
    while (start < at && (text[start] === '-' || text[start] === '.')) start += 1

    const end = wordEnd(text, hit.index + hit[0].length)
    searched = end
    if (end - start > NAME_MAX || text.startsWith(COUNT, end - COUNT.length)) continue
    let name = text.slice(start, end)
    // `api key`, `secret access key`
    if (/^(?:key|token|secret|code|phrase)s?$/i.test(name))
      name = (SPACED.exec(text.slice(Math.max(0, start - 24), start))?.[0] ?? '') + name
    const strength = strengthOf(name)
    if (strength === 'none') continue
    for (const secret of valuesAfter(text, { name, start, end }, strength)) {
      if (secret.start < from) continue
      if (WORKING_FOLDER.test(name) && FOLDER.test(text.slice(secret.start, secret.start + 4)))
        continue
      secrets.push(secret)
      from = secret.end
      searched = Math.max(searched, from)
    }
  }
  const others = otherSecrets(text, isAscii)
  return others.length === 0 ? secrets : withoutOverlaps([...secrets, ...others])
}

/** Variables of shells. In a connection string, `PWD` is a password. */
const WORKING_FOLDER = /^(?:OLD)?PWD$/
const FOLDER = /^(?:\/|[A-Za-z]:[\\/])/

/** Values after foreign names, and `curl -u ann:X` in a text. */
function otherSecrets(text: string, isAscii: boolean): NamedSecret[] {
  const secrets: NamedSecret[] = []
  for (const { strength, start, end } of foreignValues(text, isAscii)) {
    const value = text.slice(start, end)
    const name = strength === 'password' ? 'password' : 'api_key'
    if (MNEMONIC.test(value) || isSecretValue(value, { name, strength }, 'word'))
      secrets.push({ name, start, end })
  }
  if (!text.includes('curl ')) return secrets
  for (const { 0: all, 1: value = '', index } of text.matchAll(CURL_USER)) {
    const end = index + all.length
    if (isSecretValue(value, { name: 'password', strength: 'password' }, 'word'))
      secrets.push({ name: 'password', start: end - value.length, end })
  }
  return secrets
}

const CURL_USER =
  /\bcurl\s[^\n|;]{0,256}?\s?(?:-u|--user)[ =]\\{0,4}["']?[\w.@+-]{1,64}:([^\s"'\\`]{4,128})/g

function withoutOverlaps(secrets: readonly NamedSecret[]): NamedSecret[] {
  const separate: NamedSecret[] = []
  for (const secret of secrets.toSorted((one, other) => one.start - other.start))
    if (secret.start >= (separate.at(-1)?.end ?? 0)) separate.push(secret)
  return separate
}

const NAME_MAX = 64
/** Parts of names. Everything else is decided by the whole name. */
const TRIGGER =
  /passw|passp|passc|pass\b|passe\b|nha\b|chtwoord|nnwort|pass_|pwd|secret|token|key|credential|cookie|session|sessid|\bsid\b|authori[sz]ation|_auth\b|signature|\bsig\b|\bcode\b|verifier|mnemonic|phrase|\botp\b|totp|\bpin\b|\bcvv\b|\bpw\b|identified by/iy
/** Three characters that begin a trigger, of which each has its lowest five bits. */
const BEGINS = new Uint8Array(1 << 15)
/** The first or last two of these three. */
const PAIRS = new Uint8Array(1 << 10)
for (const stem of 'pas pwd sec tok key cre coo ses sid aut _au sig cod ver mne phr otp tot pin cvv ide nha cht nnw'.split(
  ' ',
))
  addBegin(bitsOf(stem, 0), bitsOf(stem, 1), bitsOf(stem, 2))
for (let any = 0; any < 32; any += 1) addBegin(bitsOf('p', 0), bitsOf('w', 0), any)

function addBegin(first: number, second: number, third: number): void {
  BEGINS[(first << 10) | (second << 5) | third] = 1
  const [begin, end] = [(first << 5) | second, (second << 5) | third]
  PAIRS[begin] = 1
  PAIRS[end] = 1
}

function bitsOf(text: string, at: number): number {
  return text.charCodeAt(at) & 31
}

const encoder = new TextEncoder()
const SCRATCH_MAX = 1 << 20
let scratch = new Uint8Array(1 << 16)

/** The lowest bits of each character, because reading an array is much faster than reading a text. */
function codesOf(text: string): { readonly codes: Uint8Array; readonly isAscii: boolean } {
  const { length } = text
  if (length > scratch.length && length <= SCRATCH_MAX) scratch = new Uint8Array(length)
  const codes = length > scratch.length ? new Uint8Array(length) : scratch
  const { read, written } = encoder.encodeInto(text, codes)
  if (read === length && written === length) return { codes, isAscii: true }
  for (let at = 0; at < length; at += 1) codes[at] = text.charCodeAt(at)
  return { codes, isAscii: false }
}

/** Ends the names of counts, as in the usage of every model's answer: none is one of a secret. */
const COUNT = 'tokens'

const isCount = (text: string, at: number): boolean =>
  text.startsWith(COUNT, at) && !isNameCode(text.charCodeAt(at + COUNT.length))

/** The next trigger. Looks at every second pair of characters: one expression takes ten times as long. */
function triggerAt(text: string, codes: Uint8Array, from: number): RegExpExecArray | undefined {
  // A name at the end has no value.
  const last = text.length - 4
  for (let at = from; at <= last; at += 2) {
    const middle = (((codes[at + 1] ?? 0) & 31) << 5) | ((codes[at + 2] ?? 0) & 31)
    if (PAIRS[middle] === 0) continue
    const start =
      BEGINS[(((codes[at] ?? 0) & 31) << 10) | middle] === 1
        ? at
        : BEGINS[(middle << 5) | ((codes[at + 3] ?? 0) & 31)] === 1
          ? at + 1
          : -1
    if (start < 0) continue
    if (isCount(text, start)) {
      at = start + COUNT.length - 2
      continue
    }
    TRIGGER.lastIndex = start
    let found = TRIGGER.exec(text)
    if (found === null && start === at) {
      TRIGGER.lastIndex = at + 1
      found = TRIGGER.exec(text)
    }
    if (found !== null) return found
  }
  return undefined
}

const SPACED =
  /(?:(?:\b|(?<=\\[nrt]))(?:api|access|secret|private|auth|signing|encryption|client|session|recovery|seed|pass|bearer|license)[ ]){1,2}$/i

const isNameCode = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 48 && code <= 57) ||
  code === 95 ||
  code === 45 ||
  code === 46

function wordEnd(text: string, at: number): number {
  let end = at
  while (end < text.length && end - at < NAME_MAX && isNameCode(text.charCodeAt(end))) end += 1
  // The end of a sentence.
  while (end > at && text[end - 1] === '.') end -= 1
  return end
}

// ── names ───────────────────────────────────────────────────────────────────

const strengths = new Map<string, Strength>()
const STRENGTHS_MAX = 2000

/** Cached, because bodies repeat the same names. */
export function strengthOf(name: string): Strength {
  let strength = strengths.get(name)
  if (strength !== undefined) return strength
  strength = judge(name)
  if (strengths.size < STRENGTHS_MAX) strengths.set(ownText(name), strength)
  return strength
}

/** A copy of a slice: an engine may keep the whole text in memory as long as a slice of it. */
export const ownText = (slice: string): string => JSON.parse(JSON.stringify(slice)) as string

function judge(name: string): Strength {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== '')
  const last = words.at(-1) ?? ''
  const joined = words.join('')
  if (/^(?:set)?cookie$/.test(joined)) return 'cookie'
  if (/^(?:(?:x|proxy|original|forwarded)?authorization|identifiedby)$/.test(joined))
    return joined === 'identifiedby' ? 'password' : 'authorization'
  if (joined === 'code' || joined === 'authorizationcode' || joined === 'authcode') return 'code'
  // Models sign their reasoning, and want it back unchanged.
  if (/^(?:thought|thinking|reasoning)?signature$/.test(joined)) return 'none'
  // Most agents and servers also have sessions that are not secret, whose ids are UUIDs.
  if (SESSION.test(joined) || /_auth$/i.test(name)) return 'secret'
  if (NOT_A_VALUE_AT_END.has(last) || words.some((word) => NOT_A_VALUE.has(word))) return 'none'
  const at = words.findLastIndex((word) => PASSWORD.test(word) || word === 'pass' || word === 'pw')
  if (at >= 0 && words.slice(at + 1).every((word) => AFTER_PASSWORD.test(word))) return 'password'
  if (
    /^(?:passphrase|passwd|pin|cvv|cvc|otp|totp|onetimecode|mnemonic|seedphrase|recoveryphrase|backupcode|recoverycode)$/.test(
      joined,
    )
  )
    return 'password'
  if (SECRET.test(joined) && !NOT_SECRET.test(joined)) return 'secret'
  return /^(?:sid|sig|jwt|secret|token|credential|credentials|signature|phpsessid|jsessionid)$/.test(
    last,
  )
    ? 'secret'
    : 'none'
}

const SESSION = /^(?!mcp)[a-z]{0,12}sess(?:ion)?id$/
const PASSWORD =
  /^(?:[a-z]{0,12})(?:password|passwd|passphrase|passcode|pwd|userpass|dbpass|passwort|passe|senha|wachtwoord|kennwort)\d?$/
const AFTER_PASSWORD =
  /^(?:confirm|confirmation|confirmed|repeat|repeated|again|hash|new|old|current|value|text|plain|plaintext|\d|dev|prod|test|staging|production|read|write|ro|rw|admin|root|user|main|default|v\d)$/
/** Words that make a name one of a setting or a message. */
const NOT_A_VALUE = new Set(
  `forgot forgotten reset change changed show hide has is no min max minimum maximum require requires required invalid
  wrong missing incorrect with without use using enable enabled disable disabled can allow allowed public next prev
  previous page cursor cache idempotency partition sort primary foreign continuation sync fingerprint keyboard keyword
  keywords monkey hotkey turkey digest checksum etag usage budget prompt prompts completion total used cached reasoning
  per tokenizer tokenize`.split(/\s+/),
)
/** The same at the end of a name. */
const NOT_A_VALUE_AT_END = new Set(
  `length policy field input label url uri href link path file filename dir hint expiry expires expired expiration ttl
  count limit type kind callback placeholder help error message description title strength rules regex pattern rounds
  algorithm method manager provider store service endpoint output name names user username email id ids header param
  parameter env variable var`.split(/\s+/),
)
/** Of the words of a name, without anything between them. */
const SECRET =
  /(?:api|access|secret|private|auth|signing|encryption|master|account|shared|service|client|license|storage|webhook|admin|deploy|subscription|consumer|app|application|hmac|session|functions|aes|symmetric|bot|write|read|server)keys?$|secret|token$|sess(?:ion)?(?:id|key|cookie)$|(?:^|x)sessionid$|sessid$|credentials?$|codeverifier$|signature$|connectionstring$|(?:^|[a-z])auth$/
const NOT_SECRET =
  /tokens$|secretary|secretname|^author|^oauth$|^auth$|^noauth$|^basicauth$|^(?:next|page|continuation|sync)/

// ── forms ───────────────────────────────────────────────────────────────────

interface Name {
  readonly name: string
  readonly start: number
  readonly end: number
}

/** `\`, as often as a text was put into JSON, and a quote. */
const QUOTE = /(\\*)(["'`])/y
const SEPARATOR = /[ \t]{0,4}(=>|:=|[:=]|%3[AaDd])(?![:=])[ \t]{0,4}/y
const SCHEME = /(?:bearer|basic|token|apikey|api-key|key|digest)(?:[ +]|%20)/iy

function quoteAt(
  text: string,
  at: number,
): { readonly text: string; readonly length: number } | undefined {
  if (text[at] === '%' && text.startsWith('%22', at)) return { text: '%22', length: 3 }
  QUOTE.lastIndex = at
  const found = QUOTE.exec(text)
  return found === null ? undefined : { text: found[0], length: found[0].length }
}

/** A constant of PHP: `define('DB_PASSWORD', '…')` */
const DEFINE = /\bdefine\([ \t]{0,4}$/
const CONDITION = /[?(][ \t]{0,2}$/

const matchAt = (expression: RegExp, text: string, at: number): RegExpExecArray | null => {
  expression.lastIndex = at
  return expression.exec(text)
}

function* valuesAfter(text: string, name: Name, strength: Strength): Generator<NamedSecret> {
  const { start, end } = name
  let at = end
  const quote = quoteAt(text, at)
  let before = start
  while (text[before - 1] === '-') before -= 1
  const isQuoted = quote !== undefined && text.startsWith(quote.text, before - quote.length)
  if (isQuoted) at += quote.length
  // `user[password]=`
  else if (text[at] === ']' || /^%5D/i.test(text.slice(at, at + 3))) at += text[at] === ']' ? 1 : 3
  if (
    isQuoted &&
    DEFINE.test(text.slice(Math.max(0, start - quote.length - 16), start - quote.length))
  ) {
    const comma = matchAt(/\s{0,4},\s{0,4}/y, text, at)
    const open = comma === null ? undefined : quoteAt(text, at + comma[0].length)
    if (comma === null || open === undefined) return
    const from = at + comma[0].length + open.length
    const close = closingQuote(text, from, open.text)
    if (
      close !== undefined &&
      isSecretValue(text.slice(from, close), { name: name.name, strength }, 'data')
    )
      yield { name: name.name, start: from, end: close }
    return
  }
  // The branch of a condition: `is ? 'pass' : 'fail'`, or an argument
  if (
    isQuoted &&
    CONDITION.test(text.slice(Math.max(0, start - quote.length - 4), start - quote.length))
  )
    return
  const separator = matchAt(SEPARATOR, text, at)
  if (separator !== null) {
    at += separator[0].length
    yield* afterSeparator(text, name, { at, isQuoted, sign: separator[1] ?? '' }, strength)
    return
  }
  if (strength === 'cookie' || strength === 'code') return
  const range = isQuoted
    ? (afterQuotedName(text, name, at, quote.text) ?? optionValue(text, name, at))
    : (inXml(text, name) ??
      inSql(text, name) ??
      optionValue(text, name, at) ??
      inSentence(text, name))
  if (range === undefined) return
  const value = text.slice(range.start, range.end)
  if (isSecretValue(value, { name: name.name, strength }, range.form))
    yield { name: name.name, start: range.start, end: range.end }
}

interface Range {
  readonly start: number
  readonly end: number
  readonly form: Form
}

function* afterSeparator(
  text: string,
  { name, start }: Name,
  {
    at: from,
    isQuoted,
    sign,
  }: { readonly at: number; readonly isQuoted: boolean; readonly sign: string },
  strength: Strength,
): Generator<NamedSecret> {
  let at = from
  const open = quoteAt(text, at)
  if (open !== undefined) at += open.length
  if (strength === 'cookie') {
    const end = open === undefined ? lineEnd(text, at) : closingQuote(text, at, open.text)
    yield* cookieValues(text, at, end ?? lineEnd(text, at))
    return
  }
  const scheme =
    strength === 'authorization' || strength === 'secret' ? matchAt(SCHEME, text, at) : null
  if (scheme !== null) at += scheme[0].length
  const end = open === undefined ? unquotedEnd(text, at, sign) : closingQuote(text, at, open.text)
  if (end === undefined || end <= at) return
  const value = text.slice(at, end)
  const before = text[start - 1] ?? '\n'
  const isParameter =
    open === undefined &&
    (sign === '=' || sign.startsWith('%')) &&
    // The token of a badge is public.
    !text.startsWith('.svg?', start - 5) &&
    (/[?&[]/.test(before) ||
      before === 'B' ||
      before === 'b' ||
      /%(?:3F|26|5B)$/i.test(text.slice(Math.max(0, start - 3), start)) ||
      (start === 0 && FORM.test(text)))
  const isLine =
    sign === '=' &&
    /^[A-Z][A-Z\d_]*$/.test(name) &&
    /(?:^|\n)(?:export )?$/.test(text.slice(Math.max(0, start - 8), start)) &&
    /^(?:\r?\n|$)/.test(text.slice(end + (open?.length ?? 0), end + (open?.length ?? 0) + 2))
  const isHeader = open === undefined && sign === ':' && text.startsWith('\r\n', end)
  const isData =
    (isQuoted && open !== undefined && (sign === ':' || sign === '=>')) ||
    isParameter ||
    (open !== undefined && sign === '=' && isAttribute(text, start, end + open.length)) ||
    isLine ||
    isHeader ||
    (strength === 'authorization' && scheme !== null)
  if (strength === 'code') {
    if (
      (isParameter || isData) &&
      (isOAuth(text, start) || (value.length >= CODE_MIN && isRandom(value))) &&
      value.length >= 8 &&
      !isPlaceholder(value) &&
      // The code of an error is not one of OAuth.
      !/^[a-z_]+$|^[A-Z][A-Z\d_]+$/.test(value)
    )
      yield { name, start: at, end }
    return
  }
  if (
    isSecretValue(
      value,
      { name, strength },
      isData ? 'data' : open !== undefined ? 'literal' : 'word',
    )
  )
    yield { name, start: at, end }
}

/** `<user name="ann" password="X" />` */
const isAttribute = (text: string, start: number, end: number): boolean =>
  /^[\s/>]/.test(text.slice(end, end + 1)) &&
  /<[A-Za-z][\w:.-]*\s(?:[^<>]*\s)?$/.test(text.slice(Math.max(0, start - 512), start))

/** A body that is a form as a whole. */
const FORM = /^[\w.%+[\]-]{1,64}=[^\s&]{0,512}(?:&[\w.%+[\]-]{1,64}=[^\s&]{0,2048}){0,64}$/

/** A code of this length that looks random is not one of a shop, country or error. */
const CODE_MIN = 24

const isOAuth = (text: string, at: number): boolean =>
  /grant_type|redirect_uri|client_id|[?&]state=|state(?:=|%3D)|oauth|\/callback\?|code_verifier/i.test(
    text.slice(Math.max(0, at - 400), at + 800),
  )

const lineEnd = (text: string, at: number): number => {
  const end = /[\r\n]|\\[rn]/.exec(text.slice(at, at + 4096))?.index
  return end === undefined ? Math.min(text.length, at + 4096) : at + end
}

/** Position of the quote that ends a text. */
function closingQuote(text: string, from: number, quote: string): number | undefined {
  const last = Math.min(text.length, from + VALUE_MAX)
  if (quote === '%22') {
    const end = text.indexOf('%22', from)
    return end < 0 || end > last ? undefined : end
  }
  const mark = quote.at(-1) ?? '"'
  const depth = quote.length - 1
  for (let at = from; at < last; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 10 && depth === 0 && mark !== '`') return undefined
    if (code !== 92) {
      if (code === mark.charCodeAt(0) && depth === 0) return at
      continue
    }
    let slashes = 0
    while (text.charCodeAt(at + slashes) === 92) slashes += 1
    const isQuote = text[at + slashes] === mark
    if (isQuote && slashes <= depth) return at
    at += slashes - (isQuote ? 0 : 1)
  }
  return undefined
}

const VALUE_MAX = 4096

function unquotedEnd(text: string, from: number, sign: string): number {
  const stop = sign.startsWith('%')
    ? /[\s"'`<>,;&)}\]\\]|%(?:26|22|2C|7D|0A|0D)/i
    : /[\s"'`<>,;&)}\]\\]/
  const rest = text.slice(from, from + 1024)
  const length = stop.exec(rest)?.index ?? rest.length
  let end = from + length
  while (end > from && /[.:!?]/.test(text[end - 1] ?? '')) end -= 1
  return end
}

/** The value of `{"name": "password", "value": "…"}`, `["password", "…"]` and of a part of a form. */
function afterQuotedName(
  text: string,
  { start }: Name,
  at: number,
  quote: string,
): Range | undefined {
  const part = matchAt(
    /(?:;[^\r\n]{0,256})?(?:\r?\n[\w-]{1,64}:[^\r\n]{0,256}){0,4}(?:\r?\n){2}/y,
    text,
    at,
  )
  if (part !== null) {
    const from = at + part[0].length
    const end = text.indexOf('\r\n--', from)
    return end < 0 ? undefined : { start: from, end, form: 'data' }
  }
  const attribute = matchAt(/[^<>]{0,200}?\bvalue=(["'])/y, text, at)
  if (attribute !== null) return quoted(text, at + attribute[0].length, attribute[1] ?? '"')
  const isMember = /[:=][ \t]{0,4}$/.test(
    text.slice(Math.max(0, start - quote.length - 6), start - quote.length),
  )
  if (isMember) {
    const mark = quote.replaceAll(/[\\$`]/g, String.raw`\$&`)
    const after = new RegExp(
      String.raw`\s{0,32},(?:\s{0,32}${mark}?\w{1,32}${mark}?\s?:\s?[^,{}]{0,128},){0,3}?\s{0,32}${mark}?(?:value|val|values|content|data|default|default_value|defaultValue|stringValue|secret)${mark}?\s{0,4}[:=]\s{0,4}\[?${mark}`,
      'y',
    )
    const found = matchAt(after, text, at)
    if (found !== null) return quoted(text, at + found[0].length, quote)
    const open = Math.max(text.lastIndexOf('{', start), start - 600)
    const before = new RegExp(
      String.raw`${mark}?(?:value|val|content|data|secret)${mark}?\s{0,4}[:=]\s{0,4}${mark}((?:(?!${mark}).){1,512})${mark}`,
      'g',
    )
    const earlier = [...text.slice(open, start).matchAll(before)].at(-1)
    if (earlier === undefined) return undefined
    const end = open + earlier.index + earlier[0].length - quote.length
    return { start: end - (earlier[1] ?? '').length, end, form: 'data' }
  }
  // Exactly two texts: a header, an entry of a form.
  const isFirst = /\[\s{0,32}$/.test(
    text.slice(Math.max(0, start - quote.length - 33), start - quote.length),
  )
  const second = isFirst ? matchAt(/\s{0,32},\s{0,32}/y, text, at) : null
  if (second === null || !text.startsWith(quote, at + second[0].length)) return undefined
  const value = quoted(text, at + second[0].length + quote.length, quote)
  return value !== undefined &&
    /\d/.test(text.slice(value.start, value.end)) &&
    /^\s{0,32}\]/.test(text.slice(value.end + quote.length, value.end + quote.length + 33))
    ? value
    : undefined
}

function quoted(text: string, start: number, quote: string): Range | undefined {
  const end = closingQuote(text, start, quote)
  return end === undefined ? undefined : { start, end, form: 'data' }
}

/** `--password X`, also as elements of an array. */
function optionValue(text: string, { start }: Name, at: number): Range | undefined {
  if (text[start - 1] !== '-') return undefined
  const array = matchAt(/\s{0,32},\s{0,32}(\\*["'])/y, text, at)
  if (array !== null) return quoted(text, at + array[0].length, array[1] ?? '"')
  if (text[at] !== ' ' || text[at + 1] === '-') return undefined
  const open = quoteAt(text, at + 1)
  if (open !== undefined) {
    const end = closingQuote(text, at + 1 + open.length, open.text)
    return end === undefined ? undefined : { start: at + 1 + open.length, end, form: 'literal' }
  }
  return { start: at + 1, end: unquotedEnd(text, at + 1, '='), form: 'word' }
}

/** `<password>X</password>` */
function inXml(text: string, { name, start, end }: Name): Range | undefined {
  if (text[end] !== '>' || !/[<:]/.test(text[start - 1] ?? '')) return undefined
  const close = text.indexOf('<', end)
  const isClosed =
    close > 0 &&
    close - end < VALUE_MAX &&
    text[close + 1] === '/' &&
    text.slice(close + 2, close + 64).includes(`${name}>`)
  return isClosed ? { start: end + 1, end: close, form: 'data' } : undefined
}

/** A literal in the position of a column, or after a word of SQL. */
function inSql(text: string, { start, end }: Name): Range | undefined {
  const keyword = matchAt(/\s{1,4}(?:for\s[^'=]{1,64}=\s?)?'/iy, text, end)
  if (
    keyword !== null &&
    /(?:identified|alter|create|with|set|user|role|encrypted)\b[^'"]{0,200}$/i.test(
      text.slice(Math.max(0, start - 200), end),
    )
  )
    return quoted(text, end + keyword[0].length, "'")
  if (!/^["`\]]?\s{0,32}[,)]/.test(text.slice(end, end + 34))) return undefined
  const from = Math.max(0, start - 600)
  const columns = /\b(?:insert|replace)\s[^()]{1,200}\(([^()]*)$/i.exec(
    text.slice(from, start),
  )?.[1]
  if (columns === undefined) return undefined
  const values = /^[^()]{0,600}\)\s{0,32}values?\s{0,32}\(/i.exec(text.slice(end, end + 700))
  if (values === null) return undefined
  return sqlLiteral(text, end + values[0].length, columns.split(',').length - 1)
}

/** The literal at an index of a list; undefined if it is something else. */
function sqlLiteral(text: string, from: number, index: number): Range | undefined {
  let [at, left] = [from, index]
  for (; at < text.length && at - from < 16_384; at += 1) {
    const character = text[at]
    if (character === "'") {
      let end = text.indexOf("'", at + 1)
      while (end >= 0 && text[end + 1] === "'") end = text.indexOf("'", end + 2)
      if (end < 0) return undefined
      if (left === 0) return { start: at + 1, end, form: 'data' }
      at = end
    } else if (character === ',') left -= 1
    else if (character === ')' || left < 0) return undefined
  }
  return undefined
}

/** `the password is X`, `API key X`; a value in quotes or backticks, or one that cannot be a word. */
function inSentence(text: string, { name, end }: Name): Range | undefined {
  if (/^pin$/i.test(name)) {
    const digits = matchAt(
      /[ \t](?:code )?(?:is|ist|lautet):?[ \t](\d{4,12})(?![\w.,-]\d|\w)/iy,
      text,
      end,
    )
    const start = end + (digits?.[0].length ?? 0) - (digits?.[1]?.length ?? 0)
    return digits === null
      ? undefined
      : { start, end: start + (digits[1]?.length ?? 0), form: 'data' }
  }
  if (/^(?:otp|totp|cvv|sid|sig|pass|pw|authorization)$/i.test(name)) return undefined
  const found = matchAt(
    /(?:[ \t](?:for|of|to|on|at|from|von)(?:[ \t][\w'.-]{1,24}){1,4}(?=[ \t](?:is|was|ist|lautet)[ \t]))?[ \t]{1,2}(?:is|was|are|to|should be|will be|as|ist|lautet|est|es|è|é|Ã¨|Ã©|\\u00e[89]|\|)?[ \t]{0,2}(?:now |set to |called )?[:=]?[ \t]{0,2}/iy,
    text,
    end,
  )
  if (found === null) return undefined
  const at = end + found[0].length
  const open = quoteAt(text, at)
  if (open !== undefined) {
    const close = closingQuote(text, at + open.length, open.text)
    return close === undefined
      ? undefined
      : { start: at + open.length, end: close, form: 'sentence' }
  }
  return { start: at, end: unquotedEnd(text, at, '='), form: 'word' }
}

const COOKIE = /([^\s=;,"]{1,128})=([^;\r\n"\\]{6,4096})/g
const ATTRIBUTE = /^(?:path|domain|expires|max-age|samesite|priority|version|comment)$/i

function* cookieValues(text: string, from: number, to: number): Generator<NamedSecret> {
  for (const { 0: pair, 1: name = '', 2: value = '', index } of text
    .slice(from, to)
    .matchAll(COOKIE)) {
    if (ATTRIBUTE.test(name) || isPlaceholder(value) || !(/\d/.test(value) || value.length >= 16))
      continue
    if (/[${}<>]|\.\.\./.test(value)) continue
    const end = from + index + pair.length
    yield { name, start: end - value.length, end }
  }
}

// ── values ──────────────────────────────────────────────────────────────────

export const isPlaceholder = (value: string): boolean =>
  value.includes('retake-h') ||
  'retake-hidden'.startsWith(value) ||
  /^[a-z]{2,6}[-_](?:r|re|ret|reta|retak|retake|retake-)$/i.test(value) ||
  /^(.)\1*$/.test(value)

/** Settings, types, and words that stand for a value. */
const NOT_A_SECRET =
  /^(?:true|false|yes|no|on|off|none|null|nil|undefined|default|auto|always|never|enabled|disabled|required|optional|string|str|text|number|integer|boolean|bool|object|array|any|unknown|bytes|char|varchar(?:\(\d+\))?|hidden|masked|redacted|\[?redacted\]?|\[?filtered\]?|password|passwd|pass|passphrase|pwd|pw|secret|token|key|apikey|api_key|api-key|credential|credentials|cookie|session|signature|bearer|basic|digest|oauth2?|jwt|prompt|env|vault|file|input|field|value|example|sample|changeme|todo|foo|bar|baz|test|testing|user|username|email|login|current-password|new-password|one-time-code)$/i
/** References, templates and calls. */
const REFERENCE =
  /\$\{|\{\{|^\$|^%[sdv(]|^<|>$|^\*+$|\.\.\.|…|process\.env|os\.environ|getenv|\(\)|=>|^(?:your|my|some|the|an?)[-_ ]|^x{3,}|xxxx|\*\*\*/i

function isSecretValue(
  value: string,
  { name, strength }: { readonly name: string; readonly strength: Strength },
  form: Form,
): boolean {
  const { length } = value
  if (length < 3 || length > VALUE_MAX || isPlaceholder(value)) return false
  if (CONTROL.test(value)) return false
  if (NOT_A_SECRET.test(value) || REFERENCE.test(value)) return false
  if (MNEMONIC.test(value)) return /mnemonic|phrase|seed/i.test(name)
  if (strength === 'password' && form !== 'data') return isPasswordInText(value, form)
  // Everything but a sentence about passwords.
  if (strength === 'password')
    return (
      !/[\n\r]/.test(value) &&
      !(value.includes(' ') && (/pass|[.!?:]$/i.test(value) || length > 128))
    )
  if (strength === 'authorization' && form === 'data')
    return length >= 8 && /^[\w+/=.~:|-]+$/.test(value) && /[\dA-Z=]/.test(value)
  if (form === 'data') return looksGenerated(value, 8) && !(/id$/i.test(name) && UUID.test(value))
  if (UUID.test(value)) return /(?:api|access|secret|client)[ _-]?(?:key|token|secret)$/i.test(name)
  if (/signature|sig$|verifier/i.test(name) || /^[\da-f]{0,31}$/.test(value)) return false
  return looksGenerated(value, form === 'word' ? 16 : 12, 4)
}

/** Characters of binary data. */
// oxlint-disable-next-line no-control-regex -- they are what it looks for
const CONTROL = /[\0-\x08\x0e-\x1f\x7f]/

/** The words of a wallet. */
const MNEMONIC = /^(?:[a-z]{3,8} ){11,23}[a-z]{3,8}$/

function isPasswordInText(value: string, form: Form): boolean {
  if (value.length < 6 || value.length > 128 || /[\s()[\]{}<>|\\]/.test(value)) return false
  if (!/[a-z]/i.test(value) || /pass|user|arg|param/i.test(value)) return false
  // `options.password1`, `PASSWORD_1`, `https://…`
  if (/^[\w$]+(?:\.[\w$]+)+$|^[A-Z][A-Z\d_]+$|\//.test(value)) return false
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[!@#$%^&*?+=]/].filter((kind) => kind.test(value)).length
  if (form === 'sentence') return kinds > 1 && /\d/.test(value)
  // Samples in code are words with a number or two.
  if (form === 'literal') return kinds > 2 || isChosen(value)
  return /\d/.test(value) && !/^[a-z]+_?\d$/i.test(value)
}

/** A password that a person chose: words and a number, but not those of a sample. */
const isChosen = (value: string): boolean =>
  value.length >= 8 &&
  /^[a-z]{5,}\d{2,}$/i.test(value) &&
  !/(?:123|abc|qwert|letmein|secret|hunter|test|sample|example|demo|foo|bar|admin|root|login|welcome|hello|token|key|value|sha\d|base\d|utf\d|rsa|aes|ed25519|curve)/i.test(
    value,
  )

/** Words and a short number, such as `amberlemon42`: long enough to be no other word of a text. */
export const isWordsAndNumber = (value: string): boolean =>
  value.length >= WORDS_MIN && /^[a-z]+\d{2,4}$/i.test(value)
const WORDS_MIN = 12

export const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i

/** True if letters and digits alternate as no name, version, date or address does. */
export function looksGenerated(value: string, least: number, changesMin = 2): boolean {
  if (value.length < least || !/^[\w+/=.~!@#$%^&*:|-]+$/.test(value) || value.includes('://'))
    return false
  if (!/\d/.test(value) || !/[a-z]/i.test(value)) return false
  if (UUID.test(value)) return changesMin === 2
  if (/^\d{4}-\d\d-\d\d|^\.{0,2}\/|^v?\d+(?:\.\d+)+/.test(value) || isHeaderName(value))
    return false
  const parts = LICENSE.test(value) ? [value.replaceAll('-', '')] : value.split(/[^A-Za-z\d]+/)
  return Math.max(...parts.map(changesIn)) >= changesMin
}

/** Groups of capital letters and digits. */
const LICENSE = /^(?:[A-Z\d]{4,8}-){2,}[A-Z\d]{4,8}$/

/** `X-A2A-Notification-Token` */
const isHeaderName = (value: string): boolean => /^x(?:-[A-Za-z\d]{1,14}){2,}$/i.test(value)

function changesIn(word: string): number {
  let changes = 0
  for (let at = 1; at < word.length; at += 1)
    if (/\d/.test(word[at] ?? '') !== /\d/.test(word[at - 1] ?? '')) changes += 1
  return changes
}

/**
 * True for mixed upper-case and lower-case letters with digits, and for 32 hexadecimal digits.
 * Names in code alternate between the kinds of characters much less than random text.
 */
export function isRandom(value: string): boolean {
  if (value.includes('retake-h') || value.startsWith('eyJ') || UUID.test(value)) return false
  if (isHeaderName(value)) return false
  if (/^[\da-f]{32,}$/i.test(value)) return /\d/.test(value) && /[a-f]/i.test(value)
  if (!/[A-Z]/.test(value) || !/[a-z]/.test(value) || !/\d/.test(value)) return false
  let changes = 0
  for (let at = 1; at < value.length; at++)
    if (kindOf(value.charCodeAt(at)) !== kindOf(value.charCodeAt(at - 1))) changes += 1
  return changes >= value.length * CHANGES_MIN
}

const CHANGES_MIN = 0.35
const kindOf = (code: number): number => (code >= 97 ? 3 : code >= 65 ? 2 : code >= 48 ? 1 : 0)
