import { stableStringify } from '../format/values/stable-stringify.js'

/** Names of arguments to show first: amounts and targets. */
const FIRST =
  /^(?:amount|total|sum|price|cost|quantity|qty|count|currency|to|cc|bcc|recipients?|target|account|iban|email|address|host|url|path|file|command|query)$/i

const TEXT_MAX = 300
const ITEMS_MAX = 20
const LINES_MAX = 60

/**
 * The arguments of a call for a person who has to approve it: amounts and targets first, nothing
 * that hides, moves or imitates text, and long values folded with their size. Members that differ
 * from the `last` approved call of the tool are marked with `*`.
 */
export function argumentLines(args: unknown, last?: unknown): string[] {
  if (!isObject(args) || Array.isArray(args)) return foldLines(valueLines(args, ''))
  const members = Object.entries(args)
  const ordered = [
    ...members.filter(([key]) => FIRST.test(key)),
    ...members.filter(([key]) => !FIRST.test(key)),
  ]
  const before = isObject(last) && !Array.isArray(last) ? last : undefined
  const lines = ordered.flatMap(([key, value]) => {
    const isChanged = before && stableStringify(before[key]) !== stableStringify(value)
    const [first = '', ...rest] = valueLines(value, '')
    return [`${isChanged ? '* ' : ''}${visibleText(key)}: ${first}`, ...rest]
  })
  const gone = before ? Object.keys(before).filter((key) => !Object.hasOwn(args, key)) : []
  return foldLines([...lines, ...gone.map((key) => `* ${visibleText(key)}: not given this time`)])
}

/**
 * Escapes characters that have no width, reverse text or move the cursor, and replaces long runs of
 * blanks with their length.
 */
export const visibleText = (text: string): string =>
  text
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu, escapeCode)
    .replaceAll(/[\p{Zs}]{4,}/gu, (blanks) => `⟨${blanks.length} spaces⟩`)
    .replaceAll(/[\p{Zs}]/gu, (blank) => (blank === ' ' ? blank : escapeCode(blank)))

const escapeCode = (char: string): string => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`

function valueLines(value: unknown, indent: string): string[] {
  if (typeof value === 'string') {
    const lines = folded(value.split('\n').map(visibleText).join('\n')).split('\n')
    const words = value.match(/[\p{L}\p{M}]+/gu) ?? []
    // Similar letters of different alphabets, such as a Cyrillic `а` in `acme`.
    const isMixed = words.some((word) => /\p{Script=Latin}/u.test(word) && LIKE_LATIN.test(word))
    const mixed = isMixed ? ' ⟨letters of several alphabets in a word⟩' : ''
    if (lines.length === 1) return [JSON.stringify(lines[0]).replaceAll('\\\\u{', '\\u{') + mixed]
    return [
      `a text of ${lines.length} lines${mixed}`,
      ...lines.map((line) => `${indent}  | ${line}`),
    ]
  }
  if (!isObject(value)) return [JSON.stringify(value)]
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    const itemLines = (items: readonly unknown[]): string[] =>
      items.flatMap((each) => {
        const [title = '', ...rest] = valueLines(each, inner)
        // The first member of an object follows its dash.
        const first = title === '' ? (rest.shift()?.trimStart() ?? '') : title
        return [`${inner}- ${first}`, ...rest]
      })
    const more = value.length - ITEMS_MAX
    const title = `a list of ${value.length}`
    if (more <= 1) return [title, ...itemLines(value)]
    const [start, end] = [value.slice(0, ITEMS_MAX - 3), value.slice(-3)]
    return [title, ...itemLines(start), `${inner}… ${more} more …`, ...itemLines(end)]
  }
  const members = Object.entries(value)
  return [
    members.length === 0 ? '{}' : '',
    ...members.flatMap(([key, member]) => {
      const [first = '', ...rest] = valueLines(member, inner)
      return [`${inner}${visibleText(key)}: ${first}`, ...rest]
    }),
  ]
}

/** The beginning and the end of a visible text; never splits an escape or a count. */
function folded(visible: string): string {
  const signs = visible.match(/⟨\d+ spaces⟩|\\u\{[\da-f]+\}|[^]/gu) ?? []
  if (signs.length <= TEXT_MAX) return visible
  const [start, end] = [signs.slice(0, TEXT_MAX - 60), signs.slice(-60)]
  return `${start.join('')}⟨… ${signs.length - TEXT_MAX} more characters …⟩${end.join('')}`
}

const LIKE_LATIN =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}]/u

function foldLines(lines: readonly string[]): string[] {
  const hidden = lines.length - LINES_MAX
  return hidden > 1
    ? [...lines.slice(0, LINES_MAX), `… ${hidden} more lines: see all of them with --json`]
    : [...lines]
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
