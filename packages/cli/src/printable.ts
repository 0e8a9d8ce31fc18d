/**
 * Recorded text may hold anything, also sequences that make a terminal do
 * things. Control characters other than line breaks and tabs are shown as `\x1b`.
 */
export function printable(text: string): string {
  return text.replace(
    /[^\P{Cc}\n\t]/gu,
    (char) => `\\x${(char.codePointAt(0) ?? 0).toString(16).padStart(2, '0')}`,
  )
}
