import { isRecord, type JsonRecord, parseJson } from '@retake/tape'
import type { OperatorContext } from './operators/operator.js'
import { isNearName } from './symptoms.js'

/** Path to a value in an answer: names, and 0 for the only item of a list. */
export type ValuePath = readonly (string | number)[]

/** An object in an answer of a tool, a server or a model, in a file, or in arguments of a call. */
export interface AnswerObject {
  /** An object, or a list of one, whose only name is 0. */
  readonly value: JsonRecord
  /** Name under which the object around has it. */
  readonly key?: string
  /** Objects around it, innermost last. */
  readonly around: readonly JsonRecord[]
}

const DEPTH_MAX = 6
const ITEMS_MAX = 20

/** Everything that the run read as JSON. */
export const answerRoots = ({ steps, sources }: OperatorContext): unknown[] => [
  ...steps.flatMap(({ result, answerText, toolCalls }) => [
    typeof result === 'string' ? parseJson(result) : result,
    parseJson(answerText),
    ...toolCalls.map(({ args }) => args),
  ]),
  ...sources
    .filter(({ path }) => /(?<!(?:^|\/)(?:package|tsconfig))\.json$/.test(path))
    .map(({ text }) => parseJson(text)),
]

export function objectsIn(
  value: unknown,
  around: readonly JsonRecord[] = [],
  key?: string,
): AnswerObject[] {
  if (around.length > DEPTH_MAX) return []
  const found = { ...(key !== undefined && { key }), around }
  if (Array.isArray(value))
    return [
      ...(value.length === 1 ? [{ ...found, value: value as unknown as JsonRecord }] : []),
      ...value
        .slice(0, ITEMS_MAX)
        .filter((item) => !Array.isArray(item))
        .flatMap((item) => objectsIn(item, around, key)),
    ]
  if (!isRecord(value)) return []
  const inner = [...around, value]
  return [
    { ...found, value },
    ...Object.entries(value).flatMap(([name, member]) => objectsIn(member, inner, name)),
  ]
}

/** Values below an object by name, nearest first. Looks into lists of one item only. */
function valuesBelow(
  owner: unknown,
  path: ValuePath = [],
): { readonly path: ValuePath; readonly name: string; readonly value: unknown }[] {
  if (path.length > 4) return []
  if (Array.isArray(owner)) return owner.length === 1 ? valuesBelow(owner[0], [...path, 0]) : []
  if (!isRecord(owner)) return []
  const members = Object.entries(owner)
  return [
    ...members.map(([name, value]) => ({ path: [...path, name], name, value })),
    ...members.flatMap(([name, value]) => valuesBelow(value, [...path, name])),
  ].toSorted((left, right) => left.path.length - right.path.length)
}

/** The same for `order_id`, `orderId`, `Order-ID` and `orderIds`. */
const plainName = (name: string): string =>
  name
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
    .replace(/(?<=\w{2})ies$/, 'y')
    .replace(/(?<=\w{2})s$/, '')

/** True for two spellings of one name, or singular and plural. */
export const isVariantName = (left: string, right: string): boolean =>
  plainName(left) === plainName(right) && plainName(left) !== ''

/** How code uses a value. */
export type ValueUse = 'list' | 'text' | 'number' | 'any'

const FITS: Readonly<Record<ValueUse, (value: unknown) => boolean>> = {
  list: Array.isArray,
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number' || isNumericText(value),
  any: (value) => value !== undefined && value !== null,
}

export const isNumericText = (value: unknown): value is string =>
  typeof value === 'string' && /^-?\d{1,15}(?:\.\d+)?$/.test(value)

/** Where else an object has a value that code looks for under a name that the object lacks. */
export function findMoved(
  owner: JsonRecord,
  name: string,
  { use, isLoose }: { readonly use: ValueUse; readonly isLoose: boolean },
): ValuePath | undefined {
  const fitting = valuesBelow(owner).filter(({ value }) => FITS[use](value))
  const same = (each: { readonly name: string }): boolean => isVariantName(each.name, name)
  const beside = fitting.filter(({ path }) => path.length === 1)
  const found =
    beside.find(same) ??
    fitting.find(same) ??
    (isLoose ? beside.find((each) => isNearName(each.name, name)) : undefined)
  return found?.path
}
