import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TapeError } from '../format/errors.js'
import { getPath, parseSet, pathText, setPath } from './set-path.js'

const answer = {
  id: 'x',
  choices: [
    { message: { role: 'assistant', content: 'old' } },
    { message: { role: 'assistant', content: 'second' } },
  ],
  'a.b': { '0': 'zero' },
  empty: [],
}

const failure = (run: () => unknown): TapeError => {
  try {
    run()
  } catch (error) {
    if (error instanceof TapeError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('setPath', () => {
  test.each([
    ['choices.0.message.content', 'old'],
    ['choices[0].message.content', 'old'],
    ['.choices[0].message.content', 'old'],
    ['choices.-1.message.content', 'second'],
    ['choices[-2]["message"].content', 'old'],
    ['a\\.b.0', 'zero'],
    ['"a.b".0', 'zero'],
    ["['a.b']['0']", 'zero'],
  ])('%s names one position', (path, before) => {
    expect(getPath(answer, path)).toBe(before)
    const edited = setPath(answer, path, 'new')
    expect(getPath(edited, path)).toBe('new')
    expect(getPath(answer, path)).toBe(before)
  })

  test('an object may get a new last key', () => {
    expect(setPath({ a: {} }, 'a.b', [1])).toEqual({ a: { b: [1] } })
  })

  test('a key named __proto__ stays a key', () => {
    const edited = setPath({}, '__proto__', { polluted: true }) as { polluted?: boolean }
    expect(Object.keys(edited)).toEqual(['__proto__'])
    expect(edited.polluted).toBeUndefined()
  })

  test('a missing position is reported with what exists', () => {
    const wrong = failure(() => setPath(answer, 'choices.0.mesage.content', 'x'))
    expect(wrong.code).toBe('EDIT_NO_SUCH_PATH')
    expect(wrong.why).toBe('choices.0 is an object with the keys message; it has no "mesage".')
    expect(failure(() => setPath(answer, 'nope.x', 1)).why).toContain(
      'The payload is an object with the keys id, choices, a.b, empty',
    )
    expect(failure(() => setPath(answer, 'choices.2', 1)).why).toContain(
      'choices is a list with the indexes 0 to 1; to add an item, set the whole list',
    )
    expect(failure(() => setPath(answer, 'choices.-3', 1)).code).toBe('EDIT_NO_SUCH_PATH')
    expect(failure(() => setPath(answer, 'choices.first', 1)).code).toBe('EDIT_NO_SUCH_PATH')
    expect(failure(() => setPath(answer, 'choices."0"', 1)).code).toBe('EDIT_NO_SUCH_PATH')
    expect(failure(() => setPath(answer, 'empty.0', 1)).why).toContain('an empty list')
    expect(failure(() => setPath(answer, 'id.length', 1)).why).toContain('id is "x"')
  })

  test.each(['', '.', 'a..b', 'a.', '[', '[0', 'a[x]', '"open', 'a b', 'a=1'])(
    '%j is not a path',
    (path) => {
      expect(failure(() => setPath(answer, path, 1)).code).toBe('EDIT_BROKEN_PATH')
    },
  )

  test('every position of any JSON can be set, and nothing else changes', () => {
    fc.assert(
      fc.property(anyJson, fc.jsonValue(), fc.nat(), (data, value, pick) => {
        const places = memberPaths(data)
        if (places.length === 0) return
        const place = places[pick % places.length] ?? []
        const path = pathText(place.map((key) => ({ key: String(key), quoted: false })))
        const before = JSON.stringify(data)
        const edited = setPath(data, path, value)
        expect(JSON.stringify(data)).toBe(before)
        expect(getPath(edited, path)).toEqual(value)
        expect(JSON.stringify(setPath(edited, path, getPath(data, path)))).toBe(before)
      }),
      { numRuns: 500 },
    )
  })
})

/** Keys of all kinds: empty, with quotes, dots or line breaks. */
const anyJson = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, fc.jsonValue({ maxDepth: 0 }), tie('list'), tie('object')),
  list: fc.array(tie('value')),
  object: fc.dictionary(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', 'a.b', '\n', '"', '\\', '[0]', '-1'),
    ),
    tie('value'),
  ),
})).value

/** Paths of all members, at every depth. */
const memberPaths = (data: unknown): (string | number)[][] => {
  if (typeof data !== 'object' || data === null) return []
  const members: [string | number, unknown][] = Array.isArray(data)
    ? [...data.entries()]
    : Object.entries(data)
  return members.flatMap(([key, value]) => [
    [key],
    ...memberPaths(value).map((rest) => [key, ...rest]),
  ])
}

describe('parseSet', () => {
  test.each([
    ['a.b=1', 'a.b', 1],
    ['a="x=y"', 'a', 'x=y'],
    ['"a=b".c={"d":[null]}', '"a=b".c', { d: [null] }],
    ['a[0]=true', 'a.0', true],
  ])('%s has a path and a value', (text, path, value) => {
    expect(parseSet(text)).toEqual({ path, value })
  })

  test('a bare word is a mistake, and the message shows how to quote it', () => {
    const wrong = failure(() => parseSet('choices.0.message.content=Hello there'))
    expect(wrong.code).toBe('EDIT_NOT_JSON')
    expect(wrong.fix).toContain(`'choices.0.message.content="Hello there"'`)
  })

  test('an edit without a value is a mistake', () => {
    expect(failure(() => parseSet('choices.0')).code).toBe('EDIT_BROKEN_PATH')
    expect(failure(() => parseSet('choices.0=')).code).toBe('EDIT_NOT_JSON')
  })
})
