/** What the recorder writes in place of a secret, alone or with the name of its variable. */
const PLACEHOLDER = /(?:\b[A-Za-z]{2,6}[-_])?retake-hidden(?:-([A-Za-z0-9_]*?))?x*(?![A-Za-z0-9_])/g

/** Text as one word of a POSIX shell, whatever is in it. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/**
 * Text as one word of a shell, in which hidden secrets are variables. A secret that
 * does not say its variable gets `fallback`.
 */
export function shellWord(text: string, fallback: string): string {
  const words: string[] = []
  let at = 0
  for (const match of text.matchAll(PLACEHOLDER)) {
    if (match.index > at) words.push(shellQuote(text.slice(at, match.index)))
    words.push(`"$${variableName(match[1], fallback)}"`)
    at = match.index + match[0].length
  }
  if (at < text.length || words.length === 0) words.push(shellQuote(text.slice(at)))
  return words.join('')
}

const variableName = (name: string | undefined, fallback: string): string =>
  name !== undefined && /^[A-Za-z_]\w*$/.test(name) ? name : fallback

/** A header or a provider as the name of a variable. */
export const asVariable = (text: string): string =>
  text
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .replace(/^(?=\d|$)/, '_')
