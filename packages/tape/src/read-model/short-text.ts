/** Text on one line, cut to a length. */
export const shortText = (text: string, length = 80): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > length ? `${line.slice(0, length - 1)}…` : line
}

/** A value as short JSON. */
export const shortJson = (value: unknown, length = 80): string =>
  shortText(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), length)
