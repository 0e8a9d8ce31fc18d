import { describe, expect, test } from 'vitest'
import {
  isPartOf,
  namesValue,
  proposeListProbes,
  proposeNumberProbes,
  proposeSpellingProbes,
  proposeValueProbes,
  type RunTexts,
  substitution,
} from './probes.js'

const texts = (more: Partial<RunTexts>): RunTexts => ({
  given: [],
  answers: [],
  made: [],
  fixed: '',
  oracle: 'exit:0',
  isOracleReadable: true,
  ...more,
})

const used = (text: string) => [{ at: 9, text }]
const changesOf = (more: Partial<RunTexts>) =>
  proposeValueProbes(texts(more))
    .slice(0, 1)
    .flatMap(({ changes }) => changes)

describe('values of a run', () => {
  test.each([
    ['identifiers', 'c9', 'c8'],
    ['identifiers with a number', 'ORD-4411', 'ORD-4412'],
    ['numbers as arguments', '4411', '4412'],
    ['names', 'Ada', 'Afe'],
    ['words', 'gold', 'gumf'],
  ])('%s are replaced by others of the same shape', (_, from, to) => {
    expect(changesOf({ given: [from], made: used(`about ${from}.`) })).toEqual([{ from, to }])
  })

  test('may be several in one argument', () => {
    expect(changesOf({ given: ['77 Ada'], made: used('77 and Ada') })).toEqual([
      { from: '77', to: '78' },
      { from: 'Ada', to: 'Afe' },
    ])
  })

  test('are also found in answers, if the run used them later', () => {
    const answers = [{ at: 3, text: '{"id":"c9","customer":"Ada Lovelace","status":"late"}' }]
    expect(changesOf({ answers, made: used('c9 Lovelace') })).toEqual([
      { from: 'c9', to: 'c8' },
      { from: 'Lovelace', to: 'Luwimedi' },
    ])
    const twice = [...answers, { at: 12, text: '{"id":"c9"}' }]
    expect(changesOf({ answers: twice, made: used('c9') })).toEqual([{ from: 'c9', to: 'c8' }])
    expect(changesOf({ answers, made: [{ at: 1, text: 'c9 Lovelace late' }] })).toEqual([])
  })

  test('words are changed apart from identifiers and names', () => {
    const answers = [{ at: 3, text: '{"id":"c9","status":"late"}' }]
    const probes = proposeValueProbes(texts({ answers, made: used('c9 is late') }))
    expect(
      probes.map(({ isWords, changes }) => [isWords, changes.map(({ from }) => from)]),
    ).toEqual([
      [false, ['c9']],
      [true, ['late']],
      [false, ['c9']],
    ])
  })

  test.each([
    ['the code knows it', 'c9', { fixed: "if (id === 'c9')" }],
    ['it is a key', 'c9', { answers: [{ at: 1, text: '{"c9":{"plan":1}}' }] }],
    ['it is not used', 'c9', { made: used('nothing') }],
    ['it is part of another word', 'c9', { made: used('c9 as custc9x') }],
    ['it is an expected word', 'paid', { oracle: 'stdout:/paid/' }],
    ['a judge may know it', 'c9', { oracle: 'check.mjs c9', isOracleReadable: false }],
    ['it is an amount', '44', { made: used('44 and "total":44') }],
    ['it has a unit', '44', { made: used('44 items of 44') }],
    ['it is a status', '404', {}],
    ['it is a year', '2026', {}],
    ['it is a format', 'utf8', {}],
    ['it is a role', 'assistant', {}],
  ])('are not changed if %s', (_, value, more) => {
    expect(changesOf({ given: [value], made: used(`about ${value}.`), ...more })).toEqual([])
  })

  test('get replacements that occur nowhere and sort like them', () => {
    const answers = [{ at: 3, text: 'c2 c5 c9' }]
    expect(changesOf({ answers, made: used('c5') })).toEqual([{ from: 'c5', to: 'c6' }])
    expect(changesOf({ answers: [{ at: 3, text: 'c5 c6' }], made: used('c5') })).toEqual([
      { from: 'c5', to: 'c4' },
    ])
  })

  test('an identifier that the oracle expects may change, because the oracle changes with it', () => {
    const oracle = 'stdout:/c9 refunded/'
    const [probe] = proposeValueProbes(texts({ given: ['c9'], made: used('c9'), oracle }))
    expect(substitution(probe!)(oracle)).toBe('stdout:/c8 refunded/')
  })
})

describe('a substitution', () => {
  const probe = {
    id: 'p',
    changes: [
      { from: 'c9', to: 'c8' },
      { from: 'Ada', to: 'Afe' },
      { from: '7', to: '6' },
    ],
  }

  test.each([
    ['c9, C9; ada-c9.json', 'c8, C8; afe-c8.json'],
    [
      String.raw`{"text":"order:\nc9","url":"?q=%20c9"}`,
      String.raw`{"text":"order:\nc8","url":"?q=%20c8"}`,
    ],
    ['xc9 c99 Adam', 'xc9 c99 Adam'],
    ['7 and "id":7, but 7.50, 2026-7-1 and 17', '6 and "id":6, but 7.50, 2026-7-1 and 17'],
  ])('of %s', (before, after) => {
    expect(substitution(probe)(before)).toBe(after)
  })

  test('a candidate names a value if its code contains it', () => {
    const edits = (after: string) => ({ edits: [{ path: 'a.js', before: '', after }] })
    expect(namesValue(edits("if (id === 'c9')") as never, probe)).toBe(true)
    expect(namesValue(edits('if (id)') as never, probe)).toBe(false)
  })
})

test('identifiers also get other letters', () => {
  const probes = proposeValueProbes(texts({ given: ['A17 ORD-4411'], made: used('A17 ORD-4411') }))
  expect(probes.map(({ changes }) => changes.map(({ to }) => to))).toEqual([
    ['A18', 'ORD-4412'],
    ['E18', 'URD-4412'],
    ['A18'],
    ['ORD-4412'],
  ])
  const [same, other, single] = probes
  expect([isPartOf(other!, same!), isPartOf(single!, same!)]).toEqual([false, true])
})

test('the longest list of an answer is reversed, extended, shortened and emptied', () => {
  const answer = { total: 2, items: [{ id: 1 }, { id: 2 }] }
  expect(proposeListProbes(5, answer).map((probe) => probe.answer)).toEqual([
    { total: 2, items: [{ id: 2 }, { id: 1 }] },
    { total: 2, items: [{ id: 1 }, { id: 2 }, { id: 2 }] },
    { total: 2, items: [{ id: 1 }] },
    { total: 2, items: [{ id: 2 }] },
    { total: 2, items: [] },
  ])
  expect(proposeListProbes(5, { total: 2 })).toEqual([])
})

test('a change of a long answer is shown where it begins', () => {
  const items = Array.from({ length: 30 }, (_, id) => ({ id }))
  const changes = proposeListProbes(5, items).map((probe) => probe.changes[0]!)
  expect(changes.every(({ from, to }) => from !== to && from.length <= 60)).toBe(true)
  expect(changes[1]).toEqual({ from: '…8},{"id":29}]', to: '…8},{"id":29},{"id":29}]' })
})

test('the numbers of an answer get bigger, zero, negative and decimals', () => {
  const answer = { total: 2, items: [{ cents: 30, name: 'x' }] }
  const item = (cents: number) => ({ cents, name: 'x' })
  expect(proposeNumberProbes(5, answer).map((probe) => probe.answer)).toEqual([
    { total: 21, items: [item(301)] },
    { total: 0, items: [item(0)] },
    { total: -2, items: [item(-30)] },
    { total: 2.25, items: [item(30.25)] },
  ])
  expect(proposeNumberProbes(5, { name: 'x' })).toEqual([])
})

describe('the same text is also spelled with', () => {
  const spelled = (content: string): unknown[] =>
    proposeSpellingProbes(5, { choices: [{ message: { content } }] }).map(
      ({ answer }) =>
        (answer as { choices: { message: { content: string } }[] }).choices[0]?.message.content,
    )

  test.each([
    [
      'another tag of a fence',
      '```\n{"a":1}\n```',
      ['```json\n{"a":1}\n```', '```JSON\n{"a":1}\n```'],
    ],
    ['no tag', 'So:\n```json\n[1]\n```', ['So:\n```\n[1]\n```', 'So:\n```JSON\n[1]\n```']],
    ['more groups of digits', "It costs 2'500.50", ["It costs 1'002'500.50"]],
    ['more groups of digits and points', '12.500', ['1.012.500']],
  ])('%s', (_what, text, others) => {
    expect(spelled(text)).toEqual(others)
  })

  test.each(['```\ncode\n```', '2500', '1,2', 'a 1,5000', 'plain'])('nothing else: %s', (text) => {
    expect(spelled(text)).toEqual([])
  })
})
