/** Lines of at most `width` characters, broken at spaces. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let rest = ''
  for (const word of text.split(/\s+/)) {
    if (rest !== '' && rest.length + 1 + word.length > width) {
      lines.push(rest)
      rest = word
    } else rest = rest === '' ? word : `${rest} ${word}`
  }
  if (rest !== '') lines.push(rest)
  return lines
}
