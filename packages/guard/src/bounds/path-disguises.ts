import type { FileDenialCode } from './file-denials.js'

/** One way to write a path so that it does not look like one, and the code for it. */
export interface Disguise {
  readonly code: FileDenialCode
  /** The text without it; the same text where there is none. */
  readonly undo: (text: string) => string
}

/** In the order in which they are taken off. */
export const DISGUISES: readonly Disguise[] = [
  { code: 'PATH_ENCODED', undo: decodePercent },
  { code: 'PATH_LOOK_ALIKE', undo: plainCharacters },
  { code: 'PATH_TRAILING', undo: withoutTrailing },
]

/** How often text is decoded that was encoded more than once. */
const ROUNDS = 4

/** Percent encoding, also in the forms that lax decoders accept: `%u002e`, and bytes longer than they need to be. */
export function decodePercent(text: string): string {
  let decoded = text
  for (let round = 0; round < ROUNDS && decoded.includes('%'); round++) {
    const before = decoded
    decoded = decoded
      .replace(/%u([\da-f]{4})/gi, (_, digits: string) => character(digits))
      .replace(/%(?:c0%|e0%80%|f0%80%80%)([89ab][\da-f])/gi, (_, low: string) =>
        String.fromCharCode(Number.parseInt(low, 16) & 0x3f),
      )
      .replace(/%c1%([89ab][\da-f])/gi, (_, low: string) =>
        String.fromCharCode(0x40 | (Number.parseInt(low, 16) & 0x3f)),
      )
      .replace(/(?:%[\da-f]{2})+/gi, (bytes) =>
        Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
      )
    if (decoded === before) break
  }
  return decoded
}

const character = (digits: string): string => String.fromCharCode(Number.parseInt(digits, 16))

/** Characters that NFKC leaves alone although they are drawn like a separator or a dot. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  '\u2215': '/', // division slash
  '\u2044': '/', // fraction slash
  '\u29f8': '/', // big solidus
  '\u2571': '/', // box drawings light diagonal
  '\u1735': '/', // Philippine single punctuation
  '\u2216': '\\', // set minus
  '\u29f5': '\\', // reverse solidus operator
  '\u29f9': '\\', // big reverse solidus
  '\u3002': '.', // ideographic full stop
  '\u0701': '.', // Syriac supralinear full stop
  '\ua4f8': '.', // Lisu letter tone mya ti
}

/** Full width, one dot leader, invisible characters and the like as what they stand for. */
export function plainCharacters(text: string): string {
  if (!/[^\x20-\x7e]/.test(text)) return text
  return text
    .normalize('NFKC')
    .replace(/\P{ASCII}/gu, (each) => LOOK_ALIKES[each] ?? each)
    .replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g, '')
}

/** Without the dots and spaces that Windows drops at the end of every name. */
export function withoutTrailing(text: string): string {
  return text.replace(/[^\\/]+/g, (name) => {
    if (/^\.+$/.test(name)) return name
    if (/^\.\.[. ]+$/.test(name)) return '..'
    return name.replace(/[. ]+$/, '')
  })
}
