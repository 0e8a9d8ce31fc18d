/** One name or more; `*` matches any characters. */
export type Names = string | readonly string[]

export type NameTest = (name: string) => boolean

/** Compiles names in which `*` matches any characters. Case-sensitive. */
export function nameTest(names: Names): NameTest {
  const list = typeof names === 'string' ? [names] : names
  if (list.includes('*')) return () => true
  const exact = new Set(list.filter((name) => !name.includes('*')))
  const patterns = list.filter((name) => name.includes('*'))
  if (patterns.length === 0) return (name) => exact.has(name)
  return (name) => exact.has(name) || patterns.some((pattern) => matchesText(pattern, name))
}

/** True if `outer` certainly matches every name that `inner` matches. */
export function coversNames(outer: Names, inner: Names): boolean {
  const inside = typeof inner === 'string' ? [inner] : inner
  return inside.length > 0 && inside.every(nameTest(outer))
}

/** True if `pattern` matches `text`. `*` matches any characters. Runs in linear time. */
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

const HIDDEN = /[\p{Default_Ignorable_Code_Point}\p{C}]/gu
const FOREIGN = /[\p{Script=Cyrillic}\p{Script=Greek}]/gu

const escaped = (name: string, characters: RegExp): string =>
  name.replaceAll(characters, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)

/** The problem with the name of a tool. A lookalike of a name would not match any call. */
export function toolNameProblem(name: string): string | undefined {
  if (name.search(HIDDEN) >= 0) return `"${escaped(name, HIDDEN)}" has an invisible character.`
  return /\p{Script=Latin}/u.test(name) && name.search(FOREIGN) >= 0
    ? `"${escaped(name, FOREIGN)}" mixes letters of alphabets that look alike.`
    : undefined
}
