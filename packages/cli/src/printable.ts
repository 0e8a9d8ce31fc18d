import { maskKeys } from '@retake/tape'

/**
 * Recorded text may hold anything, also sequences that make a terminal do
 * things. Control characters other than line breaks and tabs are shown as `\x1b`, those
 * that turn the direction of text around, so that it reads as something else, as `\u{202e}`.
 * Keys are hidden: source lines and tapes of older versions may hold some.
 */
export function printable(text: string): string {
  return maskKeys(text).replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, (char) => {
    const code = char.codePointAt(0) ?? 0
    const hex = code.toString(16)
    return code > 0xff ? `\\u{${hex}}` : `\\x${hex.padStart(2, '0')}`
  })
}

/** The same where only one line is meant: a name with a line break would look like two things. */
export const printableLine = (text: string): string =>
  printable(text)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\t', String.raw`\t`)
