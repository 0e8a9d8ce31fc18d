import type { ResponseDetail } from '../../model/run-source.js'

const WIDTH = 16

export const hexLineCount = (bytes: number): number => Math.ceil(bytes / WIDTH)

/** One line of a hex dump. Shows only printable ASCII as text. */
export function hexLine(bytes: Uint8Array, line: number) {
  const piece = bytes.subarray(line * WIDTH, (line + 1) * WIDTH)
  const pairs = Array.from(piece, (byte) => byte.toString(16).padStart(2, '0'))
  return {
    offset: (line * WIDTH).toString(16).padStart(8, '0'),
    hex: `${pairs.slice(0, 8).join(' ')}  ${pairs.slice(8).join(' ')}`.padEnd(WIDTH * 3),
    text: Array.from(piece, (byte) =>
      byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·',
    ).join(''),
  }
}

const CHARS = 4000
const LINES = 60

/** Where to cut a long text. Returns the full length of a short text. */
export function foldAt(text: string): number {
  let end = CHARS
  for (let line = 0, at = 0; line < LINES; line++) {
    const next = text.indexOf('\n', at)
    if (next < 0 || next >= CHARS) break
    at = next + 1
    if (line === LINES - 1) end = next
  }
  // A little more than the limit is not worth a button.
  return text.length <= end * 1.25 ? text.length : end
}

export type AnsiTone = 'danger' | 'good' | 'warning' | 'accent' | 'muted'

interface AnsiSpan {
  readonly text: string
  readonly tone: AnsiTone | undefined
  readonly bold: boolean
}

// Control sequences, strings such as titles and links, and short escapes.
const ESCAPES =
  // oxlint-disable-next-line no-control-regex -- matches escapes
  /(?:\x1b\[|\x9b)([0-?]*)[ -/]*([@-~])|(?:\x1b[\]PX^_]|[\x9d\x90])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)|\x1b[ -/]*[0-Z\\^-~]/g

const TONES: Readonly<Record<number, AnsiTone>> = {
  1: 'danger',
  2: 'good',
  3: 'warning',
  4: 'accent',
  5: 'accent',
  6: 'accent',
}

/** Maps ANSI colours to tones of the page and removes all other escapes, such as cursor movements. */
export function readAnsi(text: string): AnsiSpan[] {
  const spans: AnsiSpan[] = []
  let [tone, bold, at]: [AnsiTone | undefined, boolean, number] = [undefined, false, 0]
  const push = (piece: string): void => {
    if (piece !== '') spans.push({ text: piece, tone, bold })
  }
  for (const found of text.matchAll(ESCAPES)) {
    push(text.slice(at, found.index))
    at = found.index + found[0].length
    if (found[2] === 'm') [tone, bold] = readColours(found[1] ?? '', tone, bold)
  }
  push(text.slice(at))
  return spans
}

function readColours(
  codes: string,
  before: AnsiTone | undefined,
  wasBold: boolean,
): [AnsiTone | undefined, boolean] {
  let [tone, bold] = [before, wasBold]
  const numbers = codes.split(/[;:]/).map(Number)
  for (let index = 0; index < numbers.length; index++) {
    const code = numbers[index] ?? 0
    if (code === 0) [tone, bold] = [undefined, false]
    else if (code === 1) bold = true
    else if (code === 2) tone = 'muted'
    else if (code === 22) bold = false
    else if (code === 39) tone = undefined
    else if (code === 38 || code === 48) index += numbers[index + 1] === 5 ? 2 : 4
    else if (code === 90) tone = 'muted'
    else if ((code >= 30 && code <= 37) || (code >= 91 && code <= 97)) tone = TONES[code % 10]
  }
  return [tone, bold]
}

/** Items with their indexes, which are stable React keys because tapes are append-only. */
export const indexed = <T>(
  items: readonly T[],
  from = 0,
): readonly { readonly index: number; readonly item: T }[] =>
  items.map((item, index) => ({ index: from + index, item }))

/** Text, or characters that are invisible or affect how others are displayed. */
type VisiblePart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'mark'; readonly text: string; readonly name: string }

/**
 * Control characters, direction overrides, zero-width characters, tags and lone surrogates. Not line
 * feeds, tabs, a carriage return before a line feed, or a joiner between two emoji.
 */
const HIDDEN =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class -- matches these characters
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

const CONTROLS =
  'NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(
    ' ',
  )

/** Maximum number of marks per text. Further characters stay part of the text. */
const MARKS = 400

/** Makes every character visible. A sequence of equal characters becomes one mark. */
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
    const code = char.codePointAt(0) ?? 0
    const hex = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
    const control = code === 0x7f ? 'DEL' : CONTROLS[code]
    const sign = `⟨${control ?? hex}⟩${count > 1 ? `×${count}` : ''}`
    if (++marks > MARKS) pending += sign
    else {
      flush()
      const isHalf = code >= 0xd800 && code <= 0xdfff
      const name = isHalf ? 'half of a surrogate pair' : NAMES[code]
      parts.push({ type: 'mark', text: sign, name: name === undefined ? hex : `${name}, ${hex}` })
    }
  }
  pending += text.slice(at)
  flush()
  return parts
}

/** The content encoding that was removed for display and download, if any. */
export function encodingUndone({
  headers,
  body,
  undecoded,
}: Pick<ResponseDetail, 'headers' | 'body' | 'undecoded'>): string | undefined {
  if (undecoded !== undefined || body.form === 'empty') return undefined
  const encodings = headers
    .filter(([name]) => /^content-encoding$/i.test(name))
    .map(([, value]) => value.trim())
    .filter((value) => value !== '' && value.toLowerCase() !== 'identity')
  return encodings.length === 0 ? undefined : encodings.join(', ')
}
