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

/** Facts set apart by ` · `, broken between facts, so that a number stays with its unit. */
export function wrapFacts(text: string, width: number): string[] {
  const lines: string[] = []
  for (const fact of text.split(' · ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 3 + fact.length + 2 <= width)
      lines[lines.length - 1] = `${last} · ${fact}`
    else {
      if (last !== undefined) lines[lines.length - 1] = `${last} ·`
      lines.push(...wrap(fact, width - 2))
    }
  }
  return lines
}
