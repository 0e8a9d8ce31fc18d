import { isRecord, attempt } from '@retake/tape'
import { type AnswerProbe, answerProbe } from './probes.js'
import type { Form } from './prove-fixes.js'

/** A form of a recorded answer, with the probes that show what the code does with it. */
export interface AnswerForm extends Form {
  readonly recorded: AnswerProbe
  readonly form: AnswerProbe
  readonly others: readonly { readonly recorded: AnswerProbe; readonly form: AnswerProbe }[]
}

/** A recorded answer that is a whole JSON value. */
export interface PlainAnswer {
  readonly seq: number
  readonly answer: unknown
  readonly isModel: boolean
}

type Change = (value: unknown) => unknown

interface Conversion {
  readonly isCertain?: true
  /** To the form that the code may expect. An answer that has this form stays as it is. */
  readonly convert: Change
  /** Other answers of the recorded kind. */
  readonly vary: readonly Change[]
}

/**
 * The same answer in forms that the unchanged code may expect: other names of members, a list
 * instead of its only item, a number instead of its digits, JSON without a code fence. If the
 * unchanged code does the right thing with a form, it also shows the right thing for other values,
 * which no oracle of one run knows.
 */
export function proposeForms(
  { seq, answer, isModel }: PlainAnswer,
  { code }: { readonly code: string },
): AnswerForm[] {
  const probe = (other: unknown): AnswerProbe => answerProbe(seq, answer, other)
  const isChanged = (other: unknown): boolean => JSON.stringify(other) !== JSON.stringify(answer)
  return [...textConversions(code), ...(isModel ? [] : shapeConversions(answer))]
    .filter(({ convert }) => isChanged(convert(answer)))
    .map(({ convert, vary, isCertain }) => ({
      ...(isCertain && { isCertain }),
      recorded: probe(answer),
      form: probe(convert(answer)),
      others: vary
        .map((change) => change(answer))
        .filter(isChanged)
        .map((other) => ({ recorded: probe(other), form: probe(convert(other)) })),
    }))
}

// ── Values ──────────────────────────────────────────────────────────────────

/** Changes values, also in JSON within a text, such as the arguments of a tool. */
function mapValues(value: unknown, change: Change): unknown {
  if (Array.isArray(value)) return value.map((each) => mapValues(each, change))
  if (isRecord(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, mapValues(each, change)]),
    )
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return change(value)
  const inner = attempt(() => JSON.parse(value) as unknown)
  if (inner === undefined) return change(value)
  const changed = mapValues(inner, change)
  return JSON.stringify(changed) === JSON.stringify(inner) ? value : JSON.stringify(changed)
}

const onTexts =
  (change: (text: string) => unknown): Change =>
  (answer) =>
    mapValues(answer, (value) => (typeof value === 'string' ? change(value) : value))

const onNumbers =
  (change: (number: number) => number): Change =>
  (answer) =>
    mapValues(answer, (value) => (typeof value === 'number' ? change(value) : value))

const OTHER_NUMBERS = [onNumbers(() => 0), onNumbers((number) => number * 10 + 1)]

const DIGITS = /^-?\d{1,12}(?:\.\d+)?$/
const FENCED = /^\s*```\w*\s*\n([\s\S]*?)\n```\s*$/
const withTag = (tag: string): Change =>
  onTexts((text) => text.replace(/^(\s*```)\w*(?=\s*\n)/, `$1${tag}`))
const GROUPED = /(?<![\w.,'’])\d{1,3}(?:['’_ \u00a0\u202f]\d{3})+(?=\D|$)/g
const LABEL = /^[A-Za-z][A-Za-z_-]{2,24}$/

const textConversions = (code: string): Conversion[] => [
  {
    convert: onTexts((text) => (DIGITS.test(text) ? Number(text) : text)),
    vary: [onTexts((text) => (DIGITS.test(text) ? `${text}7` : text))],
  },
  {
    isCertain: true,
    convert: onTexts((text) => FENCED.exec(text)?.[1] ?? text),
    vary: ['', 'json', 'JSON'].map(withTag),
  },
  {
    isCertain: true,
    convert: onTexts((text) =>
      text.replaceAll(GROUPED, (grouped) => grouped.replaceAll(/\D/g, '')),
    ),
    vary: [
      onTexts((text) =>
        text.replaceAll(GROUPED, (grouped) => {
          const sign = /\D/.exec(grouped)?.[0] ?? ''
          const [first = '', ...rest] = grouped.split(sign)
          return ['1', first.padStart(3, '0'), ...rest].join(sign)
        }),
      ),
    ],
  },
  {
    convert: onTexts((text) => knownWord(text, code) ?? text),
    vary: [
      onTexts((text) => (isOtherSpelling(text, code) ? `**${text}**` : text)),
      onTexts((text) => (isOtherSpelling(text, code) ? `${text.toUpperCase()}.` : text)),
    ],
  },
]

/** The word of the code that a model wrote with other capitals or signs. */
function knownWord(text: string, code: string): string | undefined {
  const word = text.replaceAll(/^[^A-Za-z]+|[^A-Za-z]+$/g, '')
  if (!LABEL.test(word)) return undefined
  const [, quoted, key] =
    new RegExp(`['"\`](${word})['"\`]|\\b(${word})\\s*:`, 'i').exec(code) ?? []
  return quoted ?? key
}

const isOtherSpelling = (text: string, code: string): boolean => {
  const word = knownWord(text, code)
  return word !== undefined && word !== text
}

// ── Shapes ──────────────────────────────────────────────────────────────────

const camel = (name: string): string =>
  name.replaceAll(/_+([a-z\d])/g, (_, letter: string) => letter.toUpperCase())
const snake = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const withKeys =
  (rename: (name: string) => string): Change =>
  (value) => {
    if (Array.isArray(value)) return value.map(withKeys(rename))
    if (!isRecord(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [rename(key), withKeys(rename)(each)]),
    )
  }

/** The members of the only object in an object: `{ customer: { name } }` becomes `{ name }`. */
const unwrap: Change = (value) => {
  const members = isRecord(value) ? Object.values(value) : []
  return members.length === 1 && isRecord(members[0]) ? members[0] : value
}

const isTextPart = (value: unknown): boolean => isRecord(value) && typeof value['text'] === 'string'

/** Lists of parts with a text become one text. */
const joinTexts: Change = (value) => {
  if (Array.isArray(value))
    return value.some(isTextPart) && value.every(isRecord)
      ? value.map((each) => (isTextPart(each) ? String(each['text']) : '')).join('')
      : value.map(joinTexts)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, joinTexts(each)]))
}

const addPart =
  (part: (last: unknown) => unknown): Change =>
  (value) => {
    const parts: readonly unknown[] = Array.isArray(value) ? value : []
    if (parts.some(isTextPart)) return [...parts, part(parts.at(-1))]
    if (!isRecord(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, addPart(part)(each)]),
    )
  }

/** Paths of objects within the answer, the outer ones first. */
function objectPaths(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (!isRecord(value) || path.length > PATH_MAX) return []
  const inner = Object.entries(value).flatMap(([key, each]) => objectPaths(each, [...path, key]))
  return path.length === 0 ? inner : [path, ...inner]
}
const PATH_MAX = 3
const WRAPPED_MAX = 3

const changeAt =
  ([key, ...rest]: readonly string[], change: Change): Change =>
  (value) => {
    if (key === undefined) return change(value)
    return isRecord(value) ? { ...value, [key]: changeAt(rest, change)(value[key]) } : value
  }

const shapeConversions = (answer: unknown): Conversion[] => [
  ...[
    withKeys(snake),
    withKeys(camel),
    unwrap,
    (value: unknown) => withKeys(camel)(unwrap(value)),
    (value: unknown) => withKeys(snake)(unwrap(value)),
  ].map((convert) => ({ convert, vary: OTHER_NUMBERS })),
  {
    convert: joinTexts,
    vary: [
      addPart((last) => ({ ...(last as object), text: '\nand more' })),
      addPart(() => ({ type: 'other' })),
    ],
  },
  ...objectPaths(answer)
    .toReversed()
    .slice(0, WRAPPED_MAX)
    .map((path) => ({
      convert: changeAt(path, (value) => (isRecord(value) ? [value] : value)),
      vary: [changeAt(path, () => []), changeAt(path, (value) => [value, value])],
    })),
]
