/** A stretch of text, or characters that would not be seen, or would change how others are. */
export type VisiblePart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'mark'; readonly text: string; readonly name: string }

/**
 * Controls, direction overrides, zero-width characters, tags and halves of surrogate
 * pairs. Line feeds and tabs are text; so is a carriage return before a line feed, and
 * a joiner between two pictures.
 */
const HIDDEN =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class -- these are looked for
  /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}\ud800-\udfff]|\r(?!\n)|(?<![\p{Extended_Pictographic}\ufe0f\u{1f3fb}-\u{1f3ff}])\u200d/gu

const NAMES: Readonly<Record<number, string>> = {
  0x00: 'null',
  0x07: 'bell',
  0x08: 'backspace',
  0x0d: 'carriage return',
  0x1b: 'escape',
  0xad: 'soft hyphen',
  0x061c: 'Arabic letter mark',
  0x200b: 'zero-width space',
  0x200c: 'zero-width non-joiner',
  0x200d: 'zero-width joiner',
  0x200e: 'left-to-right mark',
  0x200f: 'right-to-left mark',
  0x202a: 'left-to-right embedding',
  0x202b: 'right-to-left embedding',
  0x202c: 'end of direction',
  0x202d: 'left-to-right override',
  0x202e: 'right-to-left override',
  0x2060: 'word joiner',
  0x2066: 'left-to-right isolate',
  0x2067: 'right-to-left isolate',
  0x2068: 'first strong isolate',
  0x2069: 'end of isolate',
  0xfeff: 'byte order mark',
}

/** Of ASCII, by their numbers. */
const CONTROLS =
  'NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(
    ' ',
  )

/** Marks of one text that stand on their own; after them they are part of the text around them. */
const MARKS = 400

/** A text with everything in it to be seen. Equal characters in a row make one mark. */
export function visibleParts(text: string): VisiblePart[] {
  const parts: VisiblePart[] = []
  let at = 0
  let marks = 0
  let pending = ''
  const flush = (): void => {
    if (pending !== '') parts.push({ type: 'text', text: pending })
    pending = ''
  }
  HIDDEN.lastIndex = 0
  for (const found of text.matchAll(HIDDEN)) {
    const [char] = found
    if (found.index < at) continue
    pending += text.slice(at, found.index)
    let end = found.index + char.length
    while (text.startsWith(char, end)) end += char.length
    at = end
    const count = (end - found.index) / char.length
    const sign = signOf(char) + (count > 1 ? `×${count}` : '')
    if (++marks > MARKS) pending += sign
    else {
      flush()
      parts.push({ type: 'mark', text: sign, name: nameOf(char) })
    }
  }
  pending += text.slice(at)
  flush()
  return parts
}

/** The same in one string, where nothing but text can stand. */
export const visibleText = (text: string): string =>
  visibleParts(text)
    .map((part) => part.text)
    .join('')

const codeOf = (char: string): number => char.codePointAt(0) ?? 0

function signOf(char: string): string {
  const code = codeOf(char)
  const control = code === 0x7f ? 'DEL' : CONTROLS[code]
  if (control !== undefined) return `⟨${control}⟩`
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
}

function nameOf(char: string): string {
  const code = codeOf(char)
  const hex = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  if (code >= 0xd800 && code <= 0xdfff) return `half of a surrogate pair, ${hex}`
  const name = NAMES[code]
  return name === undefined ? hex : `${name}, ${hex}`
}
