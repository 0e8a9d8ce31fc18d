/** Parses text that should be JSON. */
export type JsonText =
  | { readonly value: unknown }
  | { readonly code: 'TEXT_WHERE_JSON' | 'INVALID_JSON'; readonly found: string }

/**
 * Reads JSON from a text, and says in words of its own what is wrong with it: those
 * of the engine differ from Node to Node and quote the text.
 */
export function readJsonText(text: string): JsonText {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return { ...whatIsWrong(text) }
  }
}

function whatIsWrong(text: string): Exclude<JsonText, { value: unknown }> {
  const start = text.search(/\S/)
  if (start < 0) return { code: 'TEXT_WHERE_JSON', found: 'an empty text' }
  if (text.startsWith('```', start))
    return { code: 'INVALID_JSON', found: 'a code fence around the answer' }
  if (text.codePointAt(0) === 0xfe_ff)
    return { code: 'INVALID_JSON', found: 'a byte order mark before the JSON' }
  if (!/^[{[]/.test(text.slice(start))) {
    const inside = text.search(/[{[]\s*["{[\]}]/)
    return {
      code: 'TEXT_WHERE_JSON',
      found: inside < 0 ? 'text' : `text, with what may be JSON from character ${inside} on`,
    }
  }
  return { code: 'INVALID_JSON', found: firstFault(text) }
}

const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y
const OPEN_SCALAR =
  /(?:t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?|-|-?\d+(?:\.\d*)?(?:[eE][+-]?)?)$/y

/** Where the text in quotes that begins here ends; whether it is cut off, or broken, if it does not. */
function endOfText(text: string, start: number): number | 'open' | 'broken' {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 34) return at + 1
    if (code < 32) return 'broken'
    if (code !== 92) continue
    at += 1
    const escaped = text[at]
    if (escaped === undefined) return 'open'
    if (escaped === 'u') {
      if (!/^[\da-f]*$/i.test(text.slice(at + 1, at + 5))) return 'broken'
      at += 4
    } else if (!'"\\/bfnrt'.includes(escaped)) return 'broken'
  }
  return 'open'
}

/** Follows the text as a parser would, without keeping anything, up to where it cannot be JSON. */
function firstFault(text: string): string {
  const open: ('{' | '[')[] = []
  let at = 0
  let wants: 'value' | 'key' | 'colon' | 'after' = 'value'
  let isAfterComma = false
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match !== null) at = pattern.lastIndex
    return match !== null
  }
  const takeText = (): boolean => {
    const end = text[at] === '"' ? endOfText(text, at) : 'broken'
    if (typeof end === 'number') at = end
    return typeof end === 'number'
  }
  for (;;) {
    take(/\s*/y)
    const next = text[at]
    if (next === undefined) return cutOff(text, open.length)
    const isClosing = next === '}' || next === ']'
    const fits = open.at(-1) === (next === '}' ? '{' : '[')
    if (isClosing && isAfterComma) return `JSON with a comma too many before character ${at}`
    if (isClosing && fits && wants !== 'colon') {
      open.pop()
      at += 1
      wants = 'after'
      if (open.length > 0) continue
      take(/\s*/y)
      return at < text.length ? `JSON with more after its end, at character ${at}` : 'broken JSON'
    }
    isAfterComma = false
    if (wants === 'colon' && next === ':') {
      at += 1
      wants = 'value'
    } else if (wants === 'after' && next === ',') {
      at += 1
      wants = open.at(-1) === '{' ? 'key' : 'value'
      isAfterComma = true
    } else if (wants === 'key' && takeText()) wants = 'colon'
    else if (wants === 'value' && (next === '{' || next === '[')) {
      open.push(next)
      at += 1
      wants = next === '{' ? 'key' : 'value'
    } else if (wants === 'value' && (takeText() || take(SCALAR))) wants = 'after'
    else if ((next === '"' && endOfText(text, at) === 'open') || take(OPEN_SCALAR))
      return cutOff(text, open.length)
    else return `JSON that is broken at character ${at}${hint(text.slice(at), wants)}`
  }
}

const cutOff = (text: string, depth: number): string =>
  `JSON that is cut off at character ${text.length}, with ${depth} ${depth === 1 ? 'bracket' : 'brackets'} open`

function hint(rest: string, wants: string): string {
  if (/^\/[/*]/.test(rest)) return ': a comment'
  if (rest.startsWith("'")) return ': single quotes'
  if (/^-?(?:NaN|Infinity|undefined)\b/.test(rest)) return `: ${/^-?\w+/.exec(rest)?.[0]}`
  if (/^(?:True|False|None)\b/.test(rest)) return ': a value of Python'
  if (wants === 'key') return ': a key without quotes'
  if (wants === 'after') return ': a comma or a bracket is missing'
  if (rest.startsWith('"')) return ': a text that is not closed or holds a raw line break'
  return ''
}
