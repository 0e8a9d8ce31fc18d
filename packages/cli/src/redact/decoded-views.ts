/** A text with its escapes undone, and where each of its characters stood; one more for the end. */
export interface DecodedView {
  readonly text: string
  readonly offsets: Uint32Array
}

const SHORT: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  '\\': '\\',
  '/': '/',
}

const JSON_ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/g
/** One character of UTF-8. */
const URL_ESCAPE =
  /%[0-7][\da-f]|%[cd][\da-f]%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}|%f[0-7](?:%[89ab][\da-f]){3}|\+/gi

/** The ways a text can be read that has escapes in it; none when it has none. */
export function decodedViews(text: string): DecodedView[] {
  const views: DecodedView[] = []
  if (text.includes('\\'))
    views.push(
      decode(text, JSON_ESCAPE, ([, hex, short = '']) =>
        hex === undefined ? (SHORT[short] ?? short) : String.fromCharCode(Number.parseInt(hex, 16)),
      ),
    )
  if (/%[0-9a-fA-F]{2}/.test(text)) views.push(decode(text, URL_ESCAPE, ([all]) => percent(all)))
  return views.filter((view) => view.text !== text)
}

function decode(
  text: string,
  escapes: RegExp,
  meaning: (escape: RegExpExecArray) => string,
): DecodedView {
  const parts: string[] = []
  const offsets = new Uint32Array(text.length + 1)
  let length = 0
  let from = 0
  const keep = (to: number): void => {
    parts.push(text.slice(from, to))
    for (let at = from; at < to; at++) offsets[length++] = at
  }
  for (const escape of text.matchAll(escapes)) {
    keep(escape.index)
    const decoded = meaning(escape)
    parts.push(decoded)
    for (let i = 0; i < decoded.length; i++) offsets[length++] = escape.index
    from = escape.index + escape[0].length
  }
  keep(text.length)
  offsets[length] = text.length
  return { text: parts.join(''), offsets: offsets.subarray(0, length + 1) }
}

function percent(escape: string): string {
  if (escape === '+') return ' '
  try {
    return decodeURIComponent(escape)
  } catch {
    return escape
  }
}
