/** True if `pattern` matches `text`; `*` matches any characters. Takes time in proportion to both. */
export function matchesText(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return pattern === text
  if (!text.startsWith(first) || text.length < first.length + last.length) return false
  const end = text.length - last.length
  let at = first.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0 || found + part.length > end) return false
    at = found + part.length
  }
  return text.endsWith(last)
}
