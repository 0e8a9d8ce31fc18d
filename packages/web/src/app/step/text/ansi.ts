export type AnsiTone = 'danger' | 'good' | 'warning' | 'accent' | 'muted'

/** Text that a terminal shows in one colour. */
export interface AnsiSpan {
  readonly text: string
  readonly tone: AnsiTone | undefined
  readonly bold: boolean
}

// Control sequences, strings such as titles and links, and the short escapes.
const ESCAPES =
  // oxlint-disable-next-line no-control-regex -- escapes are looked for
  /(?:\x1b\[|\x9b)([0-?]*)[ -/]*([@-~])|(?:\x1b[\]PX^_]|[\x9d\x90])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)|\x1b[ -/]*[0-Z\\^-~]/g

const TONES: Readonly<Record<number, AnsiTone>> = {
  1: 'danger',
  2: 'good',
  3: 'warning',
  4: 'accent',
  5: 'accent',
  6: 'accent',
}

/**
 * Reads what a program wrote for a terminal: colours as the few tones there are here,
 * all other escapes left out. What moves the cursor is not followed.
 */
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

/** Text without any escapes. */
export const stripAnsi = (text: string): string =>
  readAnsi(text)
    .map((span) => span.text)
    .join('')

function readColours(
  codes: string,
  before: AnsiTone | undefined,
  wasBold: boolean,
): [AnsiTone | undefined, boolean] {
  let [tone, bold] = [before, wasBold]
  const numbers = codes.split(/[;:]/).map(Number)
  for (let place = 0; place < numbers.length; place++) {
    const code = numbers[place] ?? 0
    if (code === 0) [tone, bold] = [undefined, false]
    else if (code === 1) bold = true
    else if (code === 2) tone = 'muted'
    else if (code === 22) bold = false
    else if (code === 39) tone = undefined
    else if (code === 38 || code === 48) place += numbers[place + 1] === 5 ? 2 : 4
    else if (code === 90) tone = 'muted'
    else if ((code >= 30 && code <= 37) || (code >= 91 && code <= 97)) tone = TONES[code % 10]
  }
  return [tone, bold]
}
