import type { SseEvent } from '@retake/tape'
import { memberPath } from '../json-value.js'
import { isRecord } from '@retake/tape'
import type { Hit } from './matcher.js'
import type { Matcher } from './matcher.js'
import { searchJson, searchText } from './search-pieces.js'

interface Fragment {
  readonly text: string
  readonly seq: number
}

/**
 * Searches server-sent events. A model streams its words a few letters at a
 * time: texts that stand under the same path are put together first.
 */
export const searchStream = (
  events: readonly SseEvent[],
  seqOf: (event: SseEvent) => number,
  matcher: Matcher,
): Hit[] => {
  const texts = new Map<string, Fragment[]>()
  const numbers: Hit[] = []
  for (const event of events) {
    const seq = seqOf(event)
    const data = parsed(event.data)
    const name = event.event === 'message' ? '' : event.event
    for (const [path, text] of textsIn(data, name, [])) {
      const known = texts.get(path)
      if (known === undefined) texts.set(path, [{ text, seq }])
      else known.push({ text, seq })
    }
    if (typeof data === 'string') continue
    numbers.push(
      ...searchJson(data, matcher, name)
        .filter(({ whole }) => whole === undefined)
        .map((hit) => ({ ...hit, seq })),
    )
  }
  const words = [...texts].flatMap(([path, fragments]) => searchFragments(path, fragments, matcher))
  return withoutSummaries([...words, ...numbers])
}

const searchFragments = (path: string, fragments: readonly Fragment[], matcher: Matcher): Hit[] => {
  const [first] = fragments
  if (first === undefined) return []
  // The same in every event, like an id: it was not cut in pieces.
  const isConstant = fragments.every(({ text }) => text === first.text)
  if (isConstant)
    return searchText(first.text, matcher, path).map((hit) => ({ ...hit, seq: first.seq }))
  const joined = fragments.map(({ text }) => text).join('')
  const [match] = matcher.findIn(joined)
  const last = fragments.at(-1)?.seq ?? first.seq
  const seq = match === undefined ? last : fragmentAt(fragments, match.index + match.length - 1)
  return searchText(joined, matcher, path).map((hit) => ({ ...hit, seq }))
}

const fragmentAt = (fragments: readonly Fragment[], index: number): number => {
  let end = 0
  for (const { text, seq } of fragments) {
    end += text.length
    if (index < end) return seq
  }
  return fragments.at(-1)?.seq ?? 0
}

/** Strings in an event with their paths. An `index` on the way belongs to the path: it tells apart what is streamed. */
function* textsIn(
  value: unknown,
  path: string,
  indexes: readonly number[],
): Generator<[path: string, text: string]> {
  if (typeof value === 'string') {
    yield [
      indexes.some((index) => index > 0) ? `${path} (index ${indexes.join('/')})` : path,
      value,
    ]
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* textsIn(item, `${path}[${index}]`, indexes)
  } else if (isRecord(value)) {
    const own = value['index'] ?? value['output_index']
    const inner = typeof own === 'number' ? [...indexes, own] : indexes
    for (const [key, member] of Object.entries(value)) {
      yield* textsIn(member, memberPath(path, key), inner)
    }
  }
}

/** Some providers repeat what they streamed when it is complete; the first telling is enough. */
const withoutSummaries = (hits: readonly Hit[]): Hit[] => {
  const isSummary = ({ path = '' }: Hit): boolean =>
    /(^|[._])(done|completed|stop)\b/.test(path.split(/[.[]/, 4).join('.'))
  const details = hits.filter((hit) => !isSummary(hit))
  return details.length > 0 ? details : [...hits]
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
