/** How often a text is taken out of its wrapping, and into how many texts at most. */
const DEPTH_LIMIT = 3
const FORM_LIMIT = 64
const SHORTEST_ENCODED = 16

/**
 * The forms that a text may be copied in, each without white space and in lower case:
 * as it is, and taken out of URL, JSON, HTML, base64 and hex encoding, also several of them.
 */
export function textForms(text: string): Set<string> {
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
  return forms
}

/** White space, case, invisible characters and how an address begins do not count. */
const bareText = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu, '')
    .replaceAll(/https?:\/\/(?:www\.)?/g, '')

function unwrapped(text: string): string[] {
  const found: string[] = []
  if (text.includes('%') || text.includes('+')) found.push(urlDecoded(text))
  if (text.includes('\\')) found.push(jsonUnescaped(text))
  if (text.includes('&')) found.push(htmlUnescaped(text))
  const compact = text.replaceAll(/\s+/g, '')
  for (const source of compact === text ? [text] : [text, compact]) {
    const runs = source.match(/[\w+/-]{16,}={0,2}/g) ?? []
    for (let from = 0; from < 4; from += 1)
      found.push(...joined(runs.map((run) => fromBase64(run.slice(from)))))
    const hex = source.match(/(?:[\da-f]{2}){12,}/gi) ?? []
    found.push(...joined(hex.map((run) => Buffer.from(run, 'hex'))))
  }
  return found.filter((each) => each !== text)
}

/** All texts of these joined by a separator. */
function joined(decoded: readonly Buffer[]): string[] {
  const texts = decoded.flatMap(readable)
  return texts.length === 0 ? [] : [texts.join('\uffff')]
}

const fromBase64 = (run: string): Buffer =>
  run.length < SHORTEST_ENCODED ? Buffer.alloc(0) : Buffer.from(run, 'base64')

/** Text, if these bytes are text; a few odd bytes at the ends come from cutting. */
function readable(bytes: Buffer): string[] {
  if (bytes.length < 8) return []
  const text = bytes.toString()
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
  text.replaceAll(/\\(?:u([\da-f]{4})|x([\da-f]{2})|(.))/gis, (_, unit, byte, char: string) => {
    const code = (unit ?? byte) as string | undefined
    return code === undefined
      ? (ESCAPES[char] ?? char)
      : String.fromCharCode(Number.parseInt(code, 16))
  })

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

const htmlUnescaped = (text: string): string =>
  text.replaceAll(
    /&(?:#x([\da-f]{1,6});?|#(\d{1,7});?|(\w{2,4});)/gi,
    (whole, hex, decimal, name) => {
      if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? whole
      const code = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16)
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole
    },
  )
