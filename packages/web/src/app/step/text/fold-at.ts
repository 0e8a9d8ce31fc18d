const CHARS = 4000
const LINES = 60

/** Where to cut a text that is long; its end when it is short enough to be shown whole. */
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
