import { clipText, hashText } from '@retake/tape'
import type { FixCandidate } from './candidates.js'
import type { Probe } from './prove-fixes.js'

/** Text that a run got or made, with the number of its event. */
export interface RunText {
  readonly at: number
  readonly text: string
}

/** Facts that decide which values change. */
export interface RunTexts {
  /** Arguments, variables and standard input. */
  readonly given: readonly string[]
  /** Answers of tools, services and models, and the content of files. */
  readonly answers: readonly RunText[]
  /** Requests, arguments of tools, output, and the error. */
  readonly made: readonly RunText[]
  /** Text whose words never change: code, models, hosts. */
  readonly fixed: string
  readonly oracle: string
  /** False if the oracle is a program or a model, which may know values of the run. */
  readonly isOracleReadable: boolean
}

/** A probe that changes values everywhere on the tape. */
export interface ValueProbe extends Probe {
  readonly kind: 'values'
  /**
   * True if the values are plain words. Code may have to know such a word, as it knows `paid`, so a
   * change that names one of them is not tried with others.
   */
  readonly isWords: boolean
}

/** A probe that changes one answer. */
export interface AnswerProbe extends Probe {
  readonly kind: 'answer'
  /** The event with the answer, and the new answer. */
  readonly seq: number
  readonly answer: unknown
}

type ValueKind = 'identifier' | 'number' | 'name' | 'word'

interface Value {
  readonly text: string
  readonly kind: ValueKind
}

/** Values in one probe. */
const VALUES_MAX = 12
const SINGLES_MAX = 2
/** How often all texts are searched for a value, which takes time. */
const LOOKED_MAX = 300

/**
 * Probes that rename values which the run was given or got, and then used: identifiers, numbers
 * that are identifiers, and names together, then words together, then identifiers with other
 * letters, then single ones in case that all together say nothing. Deterministic.
 *
 * Not changed: words of the code, of protocols and of the oracle, keys, and numbers that something
 * may be computed from.
 */
export function proposeValueProbes(texts: RunTexts): ValueProbe[] {
  const values = valuesOf(texts)
  const taken = allWords(texts)
  const changeOf = ({ text, kind }: Value): Probe['changes'] => {
    const to = replacementFor(text, kind, taken)
    if (to === undefined) return []
    taken.add(to.toLowerCase())
    return [{ from: text, to }]
  }
  const groups = [false, true].map((isWords) => ({
    isWords,
    changes: values
      .filter(({ kind }) => (kind === 'word') === isWords)
      .slice(0, VALUES_MAX)
      .flatMap(changeOf),
  }))
  const changed = groups.filter(({ changes }) => changes.length > 0)
  const identifiers = values.filter(({ kind }) => kind === 'identifier').slice(0, VALUES_MAX)
  const respelled = {
    isWords: false,
    changes: identifiers.flatMap(({ text }) => {
      const to = withOtherLetters(text, { isFirst: true })
        .flatMap((other) => withOtherDigits(other))
        .find((other) => !taken.has(other.toLowerCase()))
      return to === undefined ? [] : [{ from: text, to }]
    }),
  }
  const together = respelled.changes.length === 0 ? changed : [...changed, respelled]
  const singles = changed.flatMap(({ isWords, changes }) =>
    changes.length === 1
      ? []
      : changes.slice(0, SINGLES_MAX).map((change) => ({ isWords, changes: [change] })),
  )
  return [...together, ...singles].map(({ isWords, changes }) => ({
    id: probeId(changes),
    kind: 'values',
    isRenaming: true,
    isWords,
    changes,
  }))
}

const probeId = (changes: Probe['changes']): string => String(hashText(JSON.stringify(changes)))

/** True if a probe makes only changes that another one makes, too. */
export const isPartOf = (probe: Probe, other: Probe): boolean =>
  probe.changes.every(({ from, to }) =>
    other.changes.some((change) => change.from === from && change.to === to),
  )

// ── Values ──────────────────────────────────────────────────────────────────

function valuesOf(texts: RunTexts): Value[] {
  const { given, answers, made } = texts
  const found = new Map<string, Value>()
  const refused = new Set<string>()
  let looked = 0
  const add = (values: readonly Value[], after: number): void => {
    for (const value of values) {
      if (found.has(value.text) || refused.has(value.text) || looked === LOOKED_MAX) continue
      looked++
      const pattern = wordPattern([value.text])
      // A value that the run did not use has nothing to do with the failure.
      const isUsed = made.some(({ at, text }) => at > after && text.search(pattern) >= 0)
      if (!isUsed) continue
      if (mayChange(value, texts)) found.set(value.text, value)
      else refused.add(value.text)
    }
  }
  for (const text of given) add([...givenValues(text), ...memberValues(text)], -1)
  // The last answers are nearest to the failure.
  for (const { at, text } of answers.toReversed())
    add([...identifiersIn(text), ...memberValues(text)], at)
  return [...found.values()]
}

/** Letters, then at least one digit: `c9`, `ORD-4411`. Not `9kg` or `2026-11-19`. */
const IDENTIFIER = /(?<![A-Za-z0-9])[A-Za-z]{1,12}(?:[_-]?[A-Za-z0-9]{1,12}){0,3}(?![A-Za-z0-9])/g
/** Names of formats and algorithms, quarters, and ids that model providers make. */
const TECHNICAL =
  /^(?:utf|latin|sha|md|base|ipv?|http|tls|int|uint|float|es|mp|q|h|p|v|w|kw|fy|iso|http|gpt|claude|gemini|llama)[_-]?\d|^(?:chatcmpl|cmpl|call|toolu|msg|req|resp|gen|fc|rs|run)[_-]/i

const identifiersIn = (text: string): Value[] =>
  [...text.matchAll(IDENTIFIER)].flatMap(([word]) =>
    /\d/.test(word) && !TECHNICAL.test(word) ? [{ text: word, kind: 'identifier' }] : [],
  )

/** Longer texts are prose, whose words have nothing to do with data. */
const GIVEN_WORDS_MAX = 6

/** An argument is a value, `--option=value`, or a few of them. */
function givenValues(text: string): Value[] {
  const words = text.split(/[\s=,;]+/).filter((word) => !word.startsWith('-'))
  const kinds: readonly (readonly [ValueKind, RegExp])[] = [
    ['number', /^\d{1,9}$/],
    ['name', /^[A-Z][a-z]{2,14}$/],
    ['word', /^[a-z]{3,15}$/],
  ]
  const values = words.flatMap((word) =>
    kinds.flatMap(([kind, pattern]) => (pattern.test(word) ? [{ text: word, kind }] : [])),
  )
  return [...identifiersIn(text), ...(words.length <= GIVEN_WORDS_MAX ? values : [])]
}

/** `"key": "value"` and `"key": 4411`, also in JSON within a text. */
const MEMBER =
  /\\*"([\w$-]{1,40})\\*"\s*:\s*(?:\\*"((?:[^"\\\n]){1,60})\\*"|(\d{2,9})(?=\s*[,}\]\n]))/g
const ID_KEY = /(?:^|_)(?:id|no|nr|number|code|key|ref|reference)$|(?:Id|No|Number|Code|Key|Ref)$/
const NAME_KEY =
  /name|customer|user|author|recipient|sender|owner|company|city|country|street|contact|email/i
const PERSON = /^[A-Z][a-z]{1,14}(?: [A-Z][a-z]{1,14}){0,2}$/
const TOOL_CALL_KEY = /^(?:role|type|object|model|tool_call_id|call_id|finish_reason|stop_reason)$/

function memberValues(text: string): Value[] {
  return [...text.matchAll(MEMBER)].flatMap(([, key = '', said = '', number = '']): Value[] => {
    if (TOOL_CALL_KEY.test(key)) return []
    const digits = number || (/^\d{2,9}$/.test(said) ? said : '')
    if (digits !== '') return ID_KEY.test(key) ? [{ text: digits, kind: 'number' }] : []
    if (NAME_KEY.test(key) && PERSON.test(said))
      return said
        .split(' ')
        .filter((word) => word.length > 2)
        .map((word) => ({ text: word, kind: 'name' }))
    return /^(?:[A-Z]?[a-z]{2,14})$/.test(said) ? [{ text: said, kind: 'word' }] : []
  })
}

/** Words that clients and providers understand. */
export const PROTOCOL = new Set(
  'user assistant system developer tool tools function functions stop length text json object array string number integer boolean true false null none auto type error content role name model message messages choices usage input output utf8 ascii default required yes not and the'.split(
    ' ',
  ),
)

/** Runs of letters and digits that are longer are made by machines. */
const RUN_MAX = 16

function mayChange({ text, kind }: Value, texts: RunTexts): boolean {
  const { fixed, oracle, isOracleReadable } = texts
  const lower = text.toLowerCase()
  if (PROTOCOL.has(lower) || lower.includes('retake')) return false
  const pattern = wordPattern([text])
  if (fixed.search(pattern) >= 0) return false
  // An expected word may be right for other values, too; an identifier belongs to the run.
  if (oracle.search(pattern) >= 0 && (kind === 'word' || !isOracleReadable)) return false
  const everything = [
    ...texts.given,
    ...texts.answers.map((each) => each.text),
    ...texts.made.map((each) => each.text),
  ]
  if (everything.some((each) => isKey(text, each))) return false
  if (kind === 'number') return isIdentifierNumber(text, everything)
  // `c9` in `xc9` may be made from the value, in a form that is not changed.
  const run = new RegExp(`[a-z0-9]*${escaped(lower)}[a-z0-9]*`, 'g')
  return everything.every((each) =>
    (withoutEscapes(each).toLowerCase().match(run) ?? []).every(
      (found) => found === lower || found.length > RUN_MAX,
    ),
  )
}

const withoutEscapes = (text: string): string =>
  text.replaceAll(/\\[bfnrt]|\\u[0-9a-f]{4}|%[0-9a-f]{2}/gi, ' ')

const isKey = (value: string, text: string): boolean =>
  new RegExp(`\\\\*"${escaped(value)}\\\\*"\\s*:`, 'i').test(text)

/** HTTP statuses and years look the same everywhere, and 0 and 1 are flags. */
const COMMON_NUMBER = /^(?:[01]|[1-5]\d\d|(?:19|20)\d\d)$/
/** Members whose numbers say nothing about the data. */
const COUNTED_KEY = /token|created|index|usage|_ms$|seed|temperature|max_|time/i

/** True if a number never occurs as an amount, from which something may be computed. */
function isIdentifierNumber(number: string, texts: readonly string[]): boolean {
  if (COMMON_NUMBER.test(number)) return false
  const member = new RegExp(`"([\\w$-]+)\\\\*"\\s*:\\s*\\\\*"?${number}(?![\\w.])`, 'g')
  const amount = new RegExp(
    `[$€£]\\s?${number}(?!\\d)|(?<![\\d.,])${number}\\s?(?:%|°|€|[kKM]?B\\b|(?:k?g|k?m|cm|mm|ms|s|h|min|days?|hours?|items?|times)\\b)`,
  )
  return texts.every(
    (text) =>
      !amount.test(text) &&
      [...text.matchAll(member)].every(
        ([, key = '']) => ID_KEY.test(key) || COUNTED_KEY.test(key) || isEntity(key),
      ),
  )
}

/** `{"order": 9}` names an order. */
const isEntity = (key: string): boolean =>
  /^(?:order|customer|user|invoice|ticket|account|booking|case|product|item)$/i.test(key)

// ── Replacements ────────────────────────────────────────────────────────────

function allWords({ given, answers, made, fixed, oracle }: RunTexts): Set<string> {
  const texts = [
    ...given,
    ...answers.map(({ text }) => text),
    ...made.map(({ text }) => text),
    fixed,
    oracle,
  ]
  return new Set(
    texts.flatMap((text) => text.toLowerCase().match(/[a-z0-9]+(?:[_-][a-z0-9]+)*/g) ?? []),
  )
}

const VOWELS = 'aeiou'
const CONSONANTS = 'bcdfghjklmnpqrstvwxyz'

/**
 * A value of the same length and shape that occurs nowhere; undefined if there is none. If possible,
 * it has the same order among the identifiers like it, so that a program that sorts does the same.
 */
function replacementFor(
  value: string,
  kind: ValueKind,
  taken: ReadonlySet<string>,
): string | undefined {
  const isFree = (other: string): boolean => !taken.has(other.toLowerCase())
  if (kind === 'name' || kind === 'word') return withOtherLetters(value).find(isFree)
  const lower = value.toLowerCase()
  const alike = [...taken].filter((word) => word !== lower && shapeOf(word) === shapeOf(lower))
  const free = [
    ...withOtherDigits(value),
    ...(kind === 'identifier' ? withOtherLetters(value, { isFirst: true }) : []),
  ].filter(isFree)
  const isInOrder = (other: string): boolean =>
    alike.every((word) => word < lower === word < other.toLowerCase())
  return free.find(isInOrder) ?? free[0]
}

const shapeOf = (word: string): string => word.replaceAll(/\d/g, '0').replaceAll(/[a-z]/g, 'a')

/** The last digit changed, nearest first, then the digit before it. */
function withOtherDigits(value: string): string[] {
  const positions = Array.from(value).flatMap((character, at) => (/\d/.test(character) ? [at] : []))
  return positions.toReversed().flatMap((at) => {
    const digit = Number(value[at])
    const isFirst = at === 0 || !/\d/.test(value[at - 1] ?? '')
    return [1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6, 7, -7, 8, -8].flatMap((step) => {
      const other = digit + step
      const isPossible = other <= 9 && other >= (isFirst ? 1 : 0)
      return isPossible ? [value.slice(0, at) + other + value.slice(at + 1)] : []
    })
  })
}

/** Vowels and consonants replaced by others of their kind: only the first letter, or all others. */
function withOtherLetters(value: string, { isFirst = false } = {}): string[] {
  return [1, 2, 3, 4].map((step) =>
    Array.from(value)
      .map((character, at) => {
        if ((at === 0) !== isFirst || !/[a-z]/i.test(character)) return character
        const lower = character.toLowerCase()
        const letters = VOWELS.includes(lower) ? VOWELS : CONSONANTS
        const other = letters[(letters.indexOf(lower) + step) % letters.length]!
        return character === lower ? other : other.toUpperCase()
      })
      .join(''),
  )
}

// ── Substitution ────────────────────────────────────────────────────────────

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

/** Letters and digits continue a word, unless they are part of an escape: `\nc9`, `%20c9`. */
const BEFORE = '(?:(?<![A-Za-z0-9])|(?<=\\\\[bfnrt])|(?<=\\\\u[0-9a-fA-F]{4})|(?<=%[0-9a-fA-F]{2}))'
const AFTER = '(?![A-Za-z0-9])'

/** Finds values as whole words, in any case. Digits are not found in `9.50` or `2026-11-9`. */
export function wordPattern(values: readonly string[]): RegExp {
  const words = values
    .toSorted((left, right) => right.length - left.length)
    .map((value) =>
      /^\d+$/.test(value) ? `(?<!\\d[.,:/-])${value}(?![.,:/-]\\d)` : escaped(value),
    )
  return new RegExp(`${BEFORE}(?:${words.join('|')})${AFTER}`, 'gi')
}

/** Replaces the values of a probe in a text. Keeps upper and lower case, and the length. */
export function substitution({ changes }: Probe): (text: string) => string {
  const replacements = new Map(changes.map(({ from, to }) => [from.toLowerCase(), { from, to }]))
  const pattern = wordPattern(changes.map(({ from }) => from))
  return (text) =>
    text.replaceAll(pattern, (found) => {
      const { from, to } = replacements.get(found.toLowerCase())!
      if (found === from) return to
      return Array.from(found)
        .map((character, at) => {
          const other = to[at] ?? ''
          return character === character.toUpperCase() ? other.toUpperCase() : other.toLowerCase()
        })
        .join('')
    })
}

/** True if a candidate names a value that it did not get from the code. */
export const namesValue = ({ edits }: FixCandidate, { changes }: Probe): boolean => {
  const pattern = wordPattern(changes.map(({ from }) => from))
  return edits.some(({ after }) => after.search(pattern) >= 0)
}

// ── Answers ──────────────────────────────────────────────────────────────────

const SHOWN_MAX = 60

/** Probes that reorder, extend, shorten and empty the longest list of an answer. */
export function proposeListProbes(seq: number, answer: unknown): AnswerProbe[] {
  const list = longestList(answer)
  if (list === undefined) return []
  const others = [
    list.toReversed(),
    [...list, list.at(-1)],
    list.slice(0, -1),
    list.slice(1),
    [],
  ].map((other) => ({ from: list, to: other, answer: replaceIn(answer, list, other) }))
  return answerProbes(seq, others)
}

/** Probes with other numbers in an answer: bigger, zero, negative and with decimals. */
export function proposeNumberProbes(seq: number, answer: unknown): AnswerProbe[] {
  const numbers = leavesOf(answer).filter((leaf) => typeof leaf === 'number')
  if (numbers.length === 0) return []
  const changes: readonly ((number: number) => number)[] = [
    (number) => number * 10 + 1,
    () => 0,
    (number) => -number,
    (number) => number + 0.25,
  ]
  return answerProbes(
    seq,
    changes.map((change) => ({
      from: numbers[0],
      to: change(numbers[0]!),
      answer: mapLeaves(answer, (leaf) => (typeof leaf === 'number' ? change(leaf) : leaf)),
    })),
  )
}

/** Probes with the same text of a model in another spelling: code fences and large numbers. */
export function proposeSpellingProbes(seq: number, answer: unknown): AnswerProbe[] {
  const texts = leavesOf(answer).filter((leaf) => typeof leaf === 'string')
  return answerProbes(
    seq,
    SPELLINGS.flatMap((spell) => {
      const from = texts.find((text) => spell(text) !== text)
      if (from === undefined) return []
      const changed = mapLeaves(answer, (leaf) => (typeof leaf === 'string' ? spell(leaf) : leaf))
      return [{ from, to: spell(from), answer: changed }]
    }),
  )
}

/** `1'500` and `12.000.000` */
const GROUPED = /(?<![\w.,'’])(\d{1,3})([.,'’_ \u00a0\u202f])(\d{3}(?:\2\d{3})*)(?!\d)/g

const SPELLINGS: readonly ((text: string) => string)[] = [
  ...['', 'json', 'JSON'].map(
    (tag) => (text: string) =>
      text.replaceAll(/^```\w*(?=[ \t]*\n\s*[[{])/gm, () => `\`\`\`${tag}`),
  ),
  (text) =>
    text.replaceAll(
      GROUPED,
      (_, first: string, separator: string, rest: string) =>
        `1${separator}${first.padStart(3, '0')}${separator}${rest}`,
    ),
]

/** A probe with any other answer. With the recorded one, it shows what the code does with it. */
export const answerProbe = (seq: number, before: unknown, answer: unknown): AnswerProbe =>
  answerProbes(seq, [{ from: before, to: answer, answer }], { mayBeSame: true })[0]!

function answerProbes(
  seq: number,
  others: readonly { readonly from: unknown; readonly to: unknown; readonly answer: unknown }[],
  { mayBeSame = false } = {},
): AnswerProbe[] {
  const probes = others.flatMap(({ from, to, answer }): AnswerProbe[] => {
    const [before, after] = [JSON.stringify(from), JSON.stringify(to)]
    if (before === after && !mayBeSame) return []
    const start = differenceAt(before, after)
    const shown = (text: string): string =>
      clipText(`${start === 0 ? '' : '…'}${text.slice(start)}`, SHOWN_MAX)
    const changes = [{ from: shown(before), to: shown(after) }]
    return [
      {
        id: probeId([{ from: `${seq}`, to: JSON.stringify(answer) }]),
        kind: 'answer',
        changes,
        seq,
        answer,
      },
    ]
  })
  return [...new Map(probes.map((probe) => [probe.id, probe])).values()]
}

/** Characters before a difference that are shown. */
const SHOWN_BEFORE = 12

function differenceAt(before: string, after: string): number {
  const same = Array.from(before).findIndex((character, at) => character !== after[at])
  return Math.max(0, (same < 0 ? before.length : same) - SHOWN_BEFORE)
}

const leavesOf = (value: unknown): unknown[] =>
  typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [value]

function mapLeaves(value: unknown, change: (leaf: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((member) => mapLeaves(member, change))
  if (typeof value !== 'object' || value === null) return change(value)
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, mapLeaves(member, change)]),
  )
}

function longestList(value: unknown): readonly unknown[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const inner = Object.values(value).flatMap((member) => {
    const list = longestList(member)
    return list === undefined ? [] : [list]
  })
  const own = Array.isArray(value) && value.length > 0 ? [value as readonly unknown[]] : []
  return [...own, ...inner].toSorted((left, right) => right.length - left.length)[0]
}

function replaceIn(value: unknown, from: unknown, to: unknown): unknown {
  if (value === from) return to
  if (Array.isArray(value)) return value.map((member) => replaceIn(member, from, to))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, replaceIn(member, from, to)]),
  )
}
