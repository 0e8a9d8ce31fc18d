import { domainToUnicode } from 'node:url'

/** Levels of encoding, and number of decoded texts. */
const DEPTH_LIMIT = 3
const FORM_LIMIT = 256
const SHORTEST_ENCODED = 16

export interface TextForms {
  readonly forms: ReadonlySet<string>
  /** False if there are more than the limit. */
  readonly isComplete: boolean
}

/**
 * A text as it is and decoded, without white space and in lower case. Encodings: URL, JSON, HTML,
 * base64, hex, octal, quoted-printable, Punycode and character codes, also nested.
 */
export function textForms(text: string): TextForms {
  const forms = new Set<string>()
  let texts = [text]
  const seen = new Set(texts)
  for (let depth = 0; texts.length > 0; depth += 1) {
    for (const each of texts) forms.add(bareText(each))
    if (depth === DEPTH_LIMIT) break
    texts = texts
      .flatMap(unwrapped)
      .filter((each) => seen.size < FORM_LIMIT && !seen.has(each) && seen.add(each))
  }
  return { forms, isComplete: seen.size < FORM_LIMIT }
}

/** Removes white space, case, invisible characters and the start of URLs. */
const bareText = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{Mn}+/gu, '')
    .replaceAll(/[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu, '')
    .replaceAll(/https?:\/\/(?:www\.)?/g, '')

function unwrapped(text: string): string[] {
  const found: string[] = []
  if (text.includes('%') || text.includes('+')) found.push(urlDecoded(text))
  if (text.includes('\\')) found.push(jsonUnescaped(text))
  if (text.includes('&')) found.push(htmlUnescaped(text))
  if (/=[\dA-F]{2}/i.test(text)) found.push(quotedPrintableDecoded(text))
  if (/xn--/i.test(text)) found.push(text.replaceAll(/[\w.-]*xn--[\w.-]+/gi, domainToUnicode))
  found.push(...fromCodes(text))
  const compact = text.replaceAll(/\s+/g, '')
  for (const source of compact === text ? [text] : [text, compact]) {
    const runs = source.match(/[\w+/-]{16,}={0,2}/g) ?? []
    for (let from = 0; from < 4; from += 1)
      found.push(...joined(runs.map((run) => fromBase64(run.slice(from)))))
    const hex = source.match(/(?:[\da-f]{2}){12,}/gi) ?? []
    found.push(...joined(hex.map((run) => Buffer.from(run, 'hex'))))
  }
  // Removes separators, as in `61:62`, `0x61 0x62` and `aGVs.bG8h`.
  const spelled = text.replaceAll(/0x(?=[\da-f]{2})/gi, '').replaceAll(/[\s:;,.|_-]+/g, '')
  const hex = spelled === text ? [] : (spelled.match(/(?:[\da-f]{2}){12,}/gi) ?? [])
  found.push(...joined(hex.map((run) => Buffer.from(run, 'hex'))))
  if (spelled !== compact && /^[\w+/]{16,}={0,2}$/.test(spelled))
    found.push(...joined([fromBase64(spelled)]))
  return found.filter((each) => each !== text)
}

function joined(decoded: readonly Buffer[]): string[] {
  const texts = decoded.flatMap(readable)
  return texts.length === 0 ? [] : [texts.join('\uffff')]
}

const fromBase64 = (run: string): Buffer =>
  run.length < SHORTEST_ENCODED ? Buffer.alloc(0) : Buffer.from(run, 'base64')

/** The bytes as text, if they are text. Cutting may leave a few odd bytes at the ends. */
function readable(bytes: Buffer): string[] {
  if (bytes.length < 8) return []
  const text = bytes[1] === 0 && bytes[3] === 0 ? bytes.toString('utf16le') : bytes.toString()
  let oddLeft = text.length / 8
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 0xff_fd || (code < 32 && code !== 9 && code !== 10 && code !== 13)) oddLeft -= 1
    if (oddLeft < 0) return []
  }
  return [text]
}

const urlDecoded = (text: string): string =>
  text.replaceAll('+', ' ').replaceAll(/(?:%[\da-f]{2})+/gi, (run) => {
    return Buffer.from(run.replaceAll('%', ''), 'hex').toString()
  })

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }

const jsonUnescaped = (text: string): string =>
  text.replaceAll(
    /\\(?:u\{([\da-f]{1,6})\}|u([\da-f]{4})|x([\da-f]{2})|([0-3]?[0-7]{2})|(.))/gis,
    (whole, point, unit, byte, octal, char: string) => {
      const code = (point ?? unit ?? byte) as string | undefined
      if (code !== undefined) return characterOf(Number.parseInt(code, 16)) ?? whole
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(String(octal), 8))
      return ESCAPES[char] ?? char
    },
  )

const characterOf = (code: number): string | undefined =>
  code <= 0x10ffff ? String.fromCodePoint(code) : undefined

const quotedPrintableDecoded = (text: string): string =>
  text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/(?:=[\dA-F]{2})+/gi, (run) =>
      Buffer.from(run.replaceAll('=', ''), 'hex').toString(),
    )

/** Character codes: `97, 98, 99`. */
function fromCodes(text: string): string[] {
  const runs = text.match(/\b\d{2,6}(?:[\s,;]+\d{2,6}){7,}/g) ?? []
  return runs.map((run) =>
    (run.match(/\d+/g) ?? []).map((code) => characterOf(Number(code)) ?? '').join(''),
  )
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  commat: '@',
  period: '.',
  colon: ':',
  sol: '/',
  bsol: '\\',
  num: '#',
  quest: '?',
  equals: '=',
  lowbar: '_',
  percnt: '%',
  hyphen: '-',
  dash: '-',
}

const htmlUnescaped = (text: string): string =>
  text.replaceAll(
    /&(?:#x([\da-f]{1,6});?|#(\d{1,7});?|(\w{2,8});)/gi,
    (whole, hex, decimal, name) => {
      if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? whole
      const code = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16)
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole
    },
  )
