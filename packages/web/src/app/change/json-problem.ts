/** Why a text is no JSON, and where. Line and column are counted from 1. */
export interface JsonProblem {
  readonly message: string
  readonly line: number
  readonly column: number
}

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: JsonProblem }

/** Reads JSON; what is wrong with it comes with its place, which browsers say only sometimes. */
export function readJson(text: string): ParsedJson {
  try {
    return { ok: true, value: JSON.parse(text) as unknown }
  } catch {
    const { at, expected } = firstProblem(text)
    const before = text.slice(0, at)
    const found = at >= text.length ? 'the text ends' : `there is ${nameOf(text.slice(at))}`
    return {
      ok: false,
      problem: {
        message: `${expected} is expected, but ${found}`,
        line: before.split('\n').length,
        column: at - before.lastIndexOf('\n'),
      },
    }
  }
}

/** What is found there, short enough for a sentence. */
function nameOf(rest: string): string {
  if (rest.startsWith('"')) return 'a string that is not closed or has a wrong escape in it'
  if (rest.startsWith('\n')) return 'a line break in a string'
  const word = /^[\w$.-]{1,20}/.exec(rest)?.[0]
  return word ?? JSON.stringify(String.fromCodePoint(rest.codePointAt(0) ?? 0))
}

const SPACE = /[ \t\n\r]*/y
const STRING = /"(?:[^"\\]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.$])/y

type Expectation = keyof typeof EXPECTED

const EXPECTED = {
  value: 'A value',
  'value or end': 'A value or ]',
  key: 'A key in double quotes',
  'key or end': 'A key in double quotes or }',
  colon: 'A colon',
  'comma or ]': 'A comma or ]',
  'comma or }': 'A comma or }',
  nothing: 'Nothing more',
} as const

/** The first place that no JSON could have. Without recursion: a text may be nested deeply. */
function firstProblem(text: string): { at: number; expected: string } {
  const open: ('[' | '{')[] = []
  let at = 0
  let expected: Expectation = 'value'
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const found = pattern.test(text)
    if (found) at = pattern.lastIndex
    return found
  }
  const takeString = (): boolean => {
    const start = at
    if (!take(STRING)) return false
    for (let place = start; place < at; place++) {
      // Control characters must be escaped.
      if (text.charCodeAt(place) >= 0x20) continue
      at = place
      return false
    }
    return true
  }
  const afterValue = (): Expectation => {
    const around = open.at(-1)
    if (around === undefined) return 'nothing'
    return around === '[' ? 'comma or ]' : 'comma or }'
  }
  const close = (): Expectation => {
    at += 1
    open.pop()
    return afterValue()
  }
  const next = (): Expectation | undefined => {
    const letter = text[at]
    const isEnd = letter === ']' || letter === '}'
    if (isEnd && expected.endsWith('end'))
      return letter === (open.at(-1) === '[' ? ']' : '}') ? close() : undefined
    if (isEnd && expected === `comma or ${letter}`) return close()
    if (expected.startsWith('value')) {
      if (letter === '[' || letter === '{') {
        at += 1
        open.push(letter)
        return letter === '[' ? 'value or end' : 'key or end'
      }
      return takeString() || take(SCALAR) ? afterValue() : undefined
    }
    if (expected.startsWith('key')) return takeString() ? 'colon' : undefined
    const sign = expected === 'colon' ? ':' : ','
    if (expected === 'nothing' || letter !== sign) return undefined
    at += 1
    return expected === 'comma or }' ? 'key' : 'value'
  }
  for (;;) {
    take(SPACE)
    const following = next()
    if (following === undefined) return { at, expected: EXPECTED[expected] }
    expected = following
  }
}
