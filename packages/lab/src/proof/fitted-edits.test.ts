import { describe, expect, test } from 'vitest'
import { RunScript } from '../../../tape/test-support/run-script.js'
import type { SourceFile } from './candidates.js'
import { reviewEdit } from './review-edit.js'

const PRINTED =
  'q-9 of room 312: 5 nights in sauna, and 2425 EUR for Emma\\nVergiss alles\\nerror in pool\n'

/** Codes that say that a change by a model, or another author, suits this run only. */
function codesOf(
  before: string,
  after: string,
  {
    author = 'model',
    sources = [] as readonly SourceFile[],
  }: { author?: 'model' | 'rule'; sources?: readonly SourceFile[] } = {},
) {
  const candidate = {
    id: 'f',
    operator: 'model-patch',
    layer: 'code',
    title: 't',
    why: 'w',
    steps: [],
    edits: [{ path: 'agent.mjs', before, after }],
    author,
  } as const
  const run = new RunScript().print(PRINTED).end(1).view()
  return reviewEdit(candidate, { run, symptoms: [], sources }).losses.map(({ code }) => code)
}

describe('a change is fitted to this run if', () => {
  test.each<[what: string, before: string, after: string, code: string]>([
    ['it computes a pause from a length', 'wait(100)', 'wait(text.length * 90)', 'LENGTH_COMPARED'],
    [
      'it computes with a length in a constant',
      'wait(100)',
      'const letters = Number(text.length)\nwait(100 + letters * 9)',
      'LENGTH_COMPARED',
    ],
    [
      'it has a power of a length',
      'use(a * b)',
      'use(a * 10 ** String(b).length)',
      'LENGTH_COMPARED',
    ],
    [
      'it halves a list',
      'use(all)',
      'use(all.slice(Math.floor(all.length / 2)))',
      'LENGTH_COMPARED',
    ],
    ['it sends a rest', 'use(a)', 'use(a)\nif (rest.length % 2) use(rest)', 'LENGTH_COMPARED'],
    [
      'it sorts by length',
      'use(all.toSorted())',
      'use(all.toSorted((a, b) => a.length - b.length))',
      'LENGTH_COMPARED',
    ],
    ['a new number decides', 'use(a)', 'if (euros < 37) use(a)', 'NUMBER_COMPARED'],
    [
      'a new number finds',
      'use(all.a)',
      'use(all.list.find((h) => h > 3500.5))',
      'NUMBER_COMPARED',
    ],
    [
      'a part of a constant decides',
      'const LIMIT = 4\nif (all.length === LIMIT) use()',
      'const LIMIT = 4\nif (all.length > LIMIT / 2) use()',
      'NUMBER_COMPARED',
    ],
    ['even numbers decide', 'use(a)', 'if (room % 2 === 0) use(a)', 'NUMBER_COMPARED'],
    ['a digit is computed with', 'use(guests + 1)', 'use(Number(guests[0]) + 1)', 'PART_TAKEN'],
    [
      'the middle of a text decides',
      'use(a)',
      'const isNew = Number(invoice.slice(1)) > 0\nuse(isNew ? a : 0)',
      'PART_TAKEN',
    ],
    [
      'the month decides',
      'use(all.sort(byDate))',
      'use(all.sort((a, b) => b.date.slice(5, 7) - a.date.slice(5, 7)))',
      'PART_TAKEN',
    ],
    ['a key is a part of a text', 'use(t[text])', 'use(t[text.slice(0, 6)])', 'PART_TAKEN'],
    [
      'it brings a map',
      'use(a)',
      "const rates = new Map([['x', 1], ['y', 2]])\nuse(a * rates.get(b))",
      'TABLE_ADDED',
    ],
    ['it brings a table', 'use(a)', 'use({ x: 1, y: 2 }[a])', 'TABLE_ADDED'],
    ['it brings a list', 'use(a)', 'const days = [31, 28, 31]\nuse(days[month])', 'TABLE_ADDED'],
    [
      'it replaces the first sign',
      'use(Number(a))',
      `use(Number(a.replace("'", '')))`,
      'REPLACED_ONCE',
    ],
    [
      'the beginning of a text is enough',
      'if (all.includes(user)) use()',
      'if (text.startsWith(user)) use()',
      'TEST_WEAKENED',
    ],
    [
      'a part of a text is enough',
      'if (a === b) use()',
      'if (a.includes(b)) use()',
      'TEST_WEAKENED',
    ],
    [
      'the old code is one of two values',
      'use({ to: to[0] })',
      "use({ to: subject.startsWith('Re:') ? to[0] : from })",
      'OLD_CODE_KEPT',
    ],
    [
      'the old code stays for lists with items',
      'use(hits.map(f))',
      'use((hits.length ? hits : [hits]).map(f))',
      'OLD_CODE_KEPT',
    ],
    [
      'one is added to what is compared',
      'if (n > 100) use()',
      'if (n + 1 > 100) use()',
      'OFFSET_ADDED',
    ],
    ['it takes the entry beside', 'use(t[n])', 'use(t[n] ?? t[n + 1])', 'OFFSET_ADDED'],
    ['a page grows', 'const PAGE = 3', 'const PAGE = 6', 'NUMBER_TUNED'],
    ['a history grows', 'const HISTORY_LENGTH = 3', 'const HISTORY_LENGTH = 8', 'NUMBER_TUNED'],
    [
      'tokens grow a little',
      'call({ max_tokens: 30 })',
      'call({ max_tokens: 100 })',
      'NUMBER_TUNED',
    ],
    [
      'it takes the first and the last word',
      "const all = text.split(' ')\nall.forEach(use)",
      "const all = text.split(' ')\nuse(all.at(0))\nuse(all.at(-1))",
      'ITEMS_COUNTED',
    ],
    [
      'a case returns the text of another',
      "function f(a) { if (a) return 'a person'\n return 'nobody' }",
      "function f(a) { if (a) return 'a person'\n return 'a person' }",
      'ENTRY_COPIED',
    ],
    ['it takes the first of all', "use(all.join(' '))", 'use(all[0])', 'ITEMS_COUNTED'],
    [
      'it takes the first and the last',
      'use([call])',
      'for (const each of new Set([calls[0], calls.at(-1)])) use(each)',
      'ITEMS_COUNTED',
    ],
    [
      'it takes whichever member is a number',
      'use(train.delay)',
      'use(Object.values(train).find(Number))',
      'ITEMS_COUNTED',
    ],
    [
      'it skips one or none',
      'use(all)',
      "use(all.slice(all[0].role === 'assistant' ? 1 : 0))",
      'ITEMS_COUNTED',
    ],
    [
      'it compares with the first item',
      'use(all[0])',
      'use(all.find(({ text }) => text !== all[0].text))',
      'ITEMS_COUNTED',
    ],
    ['it cuts the last letter', 'use(a)', "use(a.replace(/s$/, ''))", 'VALUE_NAMED'],
    ['it looks at the first letter', 'use(a)', "if (a.startsWith('Q')) use(a)", 'VALUE_NAMED'],
    ['it compares the first letter', 'use(a)', "if (a[0] === 'Q') use(a)", 'VALUE_NAMED'],
    [
      'it has a case for a rest',
      'use(all)',
      'use(all)\nif (all.length % 3 === 1) add(all.at(-1))',
      'LENGTH_COMPARED',
    ],
    [
      'the old code stays for other texts',
      'use(onHand + expected)',
      "use(id.includes('-') ? onHand + Number(expected) : onHand + expected)",
      'OLD_CODE_KEPT',
    ],
    [
      'it adds one to a rounded number',
      'use(Math.floor(euros * 100))',
      'use(Math.floor(euros * 100) + 1)',
      'OFFSET_ADDED',
    ],
    ['it drops the last', "use(all.join(' '))", "use(all.slice(0, -1).join(' '))", 'ITEMS_COUNTED'],
    [
      'it takes the last two',
      'use(Number(text))',
      "use(Number(text.split(',').slice(-2).join('')))",
      'ITEMS_COUNTED',
    ],
    [
      'it takes items one by one',
      'all.forEach(use)',
      'use(all.shift())\nuse(all.shift())',
      'ITEMS_COUNTED',
    ],
    ['it looks for a word', 'use(a)', "if (a.includes(' of ')) use(a)", 'VALUE_NAMED'],
    [
      'it compares with a number instead of a constant',
      'const LIMIT = 4\nif (hits.length === LIMIT) use()',
      'const LIMIT = 4\nif (hits.length > 2) use()',
      'LENGTH_COMPARED',
    ],
    ['it corrects the first', 'use(share)', 'use(share + (index < 1 ? 1 : 0))', 'OFFSET_ADDED'],
    [
      'it takes the first, joined',
      "use(all.join(' '))",
      "use(all.slice(0, 1).join(' '))",
      'ITEMS_COUNTED',
    ],
    [
      'it takes two in a loop',
      'all.forEach(use)',
      'for (const each of all.slice(0, 2)) use(each)',
      'ITEMS_COUNTED',
    ],
    [
      'it reads two pages',
      'const { items } = await list({ customer })',
      'const items = []\nfor (let n = 0, cursor; n < 2; n++) { const page = await list({ customer, cursor })\n items.push(...page.items) }',
      'ITEMS_COUNTED',
    ],
    ['it cuts at a value', 'use(a)', "use(a.split('nights in')[0])", 'VALUE_NAMED'],
    ['it compares with a value', 'use(a)', "if (a === 'sauna') use(b)\nelse use(a)", 'VALUE_NAMED'],
    [
      'it has the beginning of a line',
      'use(a)',
      "if (a.startsWith('Vergiss')) use(a)",
      'VALUE_NAMED',
    ],
    [
      'it compares the content of a message',
      'use(a)',
      "if (choices[0].message.content === 'sauna') use(a)",
      'VALUE_NAMED',
    ],
    ['it looks for an answer', 'use(a)', "if (a.includes('error in pool')) use(a)", 'VALUE_NAMED'],
    ['it compares with a number', 'use(a)', 'if (nights === 5) use(a)', 'VALUE_NAMED'],
    ['it has a limit near a number', 'use(a)', 'if (room > 310) use(a)', 'VALUE_NAMED'],
    ['it has a pattern for a value', 'use(a)', "use(a.replace(/in sauna.*/, ''))", 'VALUE_NAMED'],
    [
      'it has a pattern of short words',
      'use(a)',
      "use(a.replace(/5 nights in/, ''))",
      'VALUE_NAMED',
    ],
    ['it replaces a result', 'use(a)', "use(String(a).replace('2425', '49'))", 'VALUE_NAMED'],
    [
      'a table gets a value',
      'const t = { km: 1, m: 2 }',
      'const t = { km: 1, m: 2, sauna: 3 }',
      'VALUE_NAMED',
    ],
    [
      'the entry of a value gets data',
      "const t = { sauna: { title: 'x' }, b: { title: 'y' } }",
      "const t = { sauna: { title: 'x', tags: [] }, b: { title: 'y' } }",
      'VALUE_NAMED',
    ],
    [
      'a list in a table gets a value',
      "const t = { a: ['Emma'], b: ['Momo'] }",
      "const t = { a: ['Emma'], b: ['Momo', 'Emma'] }",
      'VALUE_NAMED',
    ],
    ['it compares a length', 'use(a)', 'if (a.length > 12) use(a)', 'LENGTH_COMPARED'],
    [
      'it compares a code point',
      'use(a)',
      'if (a.codePointAt(0) === 113) use(a)',
      'LENGTH_COMPARED',
    ],
    [
      'the old code stays for other cases',
      'use(send(goods))',
      'use(goods.length === 2 ? await send(goods) : send(goods))',
      'OLD_CODE_KEPT',
    ],
    [
      'the old statement stays for other cases',
      'messages.unshift(system)',
      'if (words.length > 1) config.system = system\nelse messages.unshift(system)',
      'OLD_CODE_KEPT',
    ],
    ['it adds a constant', 'use(cents + fee)', 'use(cents + 1200)', 'OFFSET_ADDED'],
    ['it shifts a day', 'use(days[day])', 'use(days[(day + 4) % 7])', 'OFFSET_ADDED'],
    ['it corrects one item', 'use(share)', 'use(share + (index === 0 ? 1 : 0))', 'OFFSET_ADDED'],
    [
      'it shifts a constant',
      'const LIMIT = 4\nif (n === LIMIT) use()',
      'const LIMIT = 4\nif (n >= LIMIT - 1) use()',
      'OFFSET_ADDED',
    ],
    [
      'a limit has little room',
      'call({ max_tokens: 30 })',
      'call({ max_tokens: 42 })',
      'NUMBER_TUNED',
    ],
    ['a window grows by one', 'use(all.slice(-4))', 'use(all.slice(-5))', 'NUMBER_TUNED'],
    ['a comparison moves by one', 'if (n === 3) use()', 'if (n === 2) use()', 'NUMBER_TUNED'],
    [
      'an entry gets the text of another',
      "const t = { a: 'one text', b: 'another' }",
      "const t = { a: 'one text', b: 'one text' }",
      'ENTRY_COPIED',
    ],
    [
      'it rounds up instead of down',
      'use(Math.floor(euros * 100))',
      'use(Math.ceil(euros * 100))',
      'ROUNDED_OTHERWISE',
    ],
    [
      'it rounds days up',
      'use(Math.floor((b - a) / 86_400_000))',
      'use(Math.ceil((b - a) / 86_400_000))',
      'ROUNDED_OTHERWISE',
    ],
    ['it takes the second item', 'use(content[0].text)', 'use(content[1].text)', 'ITEMS_COUNTED'],
    ['it takes the first value', 'use(t[key])', 'use(Object.values(t)[0])', 'ITEMS_COUNTED'],
    [
      'it takes the first three',
      'use(all.map(send))',
      'use(all.slice(0, 3).map(send))',
      'ITEMS_COUNTED',
    ],
    [
      'it takes two of all',
      'for (const each of all) use(each)',
      'const [a, b] = all\nuse(a)\nuse(b)',
      'ITEMS_COUNTED',
    ],
    [
      'it takes the items of a text one by one',
      "const all = text.split(' ')\nall.forEach(use)",
      "const all = text.split(' ')\nawait Promise.all([use(all[0]), use(all[1])])",
      'ITEMS_COUNTED',
    ],
    [
      'it reads one more page',
      'const { items } = await list({ customer })',
      'const { items, next } = await list({ customer })\nif (next) items.push(...(await list({ customer, cursor: next })).items)',
      'ITEMS_COUNTED',
    ],
    ['it no longer sorts', 'use(all.toSorted().at(-1))', 'use(all.at(-1))', 'SORT_REMOVED'],
    [
      'the same code stays elsewhere',
      'const a = JSON.parse(one.text)\nconst b = JSON.parse(two.text)',
      'const a = JSON.parse(unfence(one.text))\nconst b = JSON.parse(two.text)',
      'SITE_LEFT',
    ],
    [
      'a smaller model answers',
      "const models = { careful: 'gpt-4-32k' }",
      "const models = { careful: 'gpt-4o-mini' }",
      'MODEL_REPLACED',
    ],
  ])('%s', (_what, before, after, code) => {
    expect(codesOf(before, after)).toContain(code)
  })

  test('the same code stays in another file', () => {
    const [before, after] = ['use(JSON.parse(one.text))', 'use(JSON.parse(unfence(one.text)))']
    const other = (path: string) => [{ path, text: 'keep(JSON.parse(two.text))' }]
    expect(codesOf(before, after, { sources: other('src/b.mjs') })).toEqual(['SITE_LEFT'])
    expect(codesOf(before, after, { sources: other('test/b.test.mjs') })).toEqual([])
  })
})

describe('a change is for all runs of a kind with', () => {
  test.each<[what: string, before: string, after: string]>([
    ['an average', 'use(sum)', 'use(sum / all.length)'],
    ['tokens of a text', 'use(text)', 'if (text.length / 4 > 2000) use(text)'],
    ['a share', 'use(a)', 'use((done.length / all.length) * 100)'],
    ['a counter', 'use(a)', 'for (let tries = 0; tries < 7; tries++) use(a)'],
    ['every fourth turn', 'use(a)', 'if (turn % 4 === 0) use(a)'],
    ['leap years', 'use(a)', 'if (year % 4 === 0) use(a)'],
    ['a kind of value', 'use(hits)', 'use(Array.isArray(hits) ? hits : [hits])'],
    ['a value that may be missing', 'use(a)', 'use(b === undefined ? a : b)'],
    ['the day of a date', 'use(t[date])', 'use(t[date.slice(0, 10)])'],
    ['all signs', 'use(a)', `use(a.replaceAll("'", ''))`],
    ['a prefix', 'use(a)', "use(a.replace('Note: ', ''))"],
    ['constants together', 'use(a)', 'const levels = { low: 1, high: 2 }\nuse(levels.low)'],
    ['an entry of another spelling', 'use(t[a])', 'use(t[a] ?? t[a.toLowerCase()])'],
    ['another list', 'if (old.includes(a)) use()', 'if (all.some((each) => each === a)) use()'],
    ['tokens with room', 'call({ max_tokens: 30 })', 'call({ max_tokens: 150 })'],
    ['pages with room', 'const PAGE = 3', 'const PAGE = 50'],
    ['a sign', 'use(a)', "if (a.startsWith('{') || a[0] === '#') use(a)"],
    ['a loop that takes all', 'all.forEach(use)', 'while (all.length > 0) use(all.shift())'],
    ['all but a header', "use(lines.join(' '))", "use(lines.slice(1).join(' '))"],
    ['every other item', 'use(a)', 'if (index % 2 === 0) use(a)'],
    ['a limit of items', "use(all.join(' '))", "use(all.slice(0, 20).join(' '))"],
    ['a role', 'use(a)', "if (a.role === 'tool') use(a)"],
    [
      'a word of the code',
      "const t = 'sauna'\nuse(a)",
      "const t = 'sauna'\nif (a === 'sauna') use(a)",
    ],
    ['another limit of a comparison', 'if (total > 100) use()', 'if (total >= 100) use()'],
    ['a status', 'use(a)', 'if (error.status === 312) use(a)'],
    ['a message of an error', 'use(a)', 'if (/sauna/.test(error.message)) use(a)'],
    ['a round limit', 'use(a)', 'if (room > 300) use(a)'],
    [
      'another value of an entry',
      'const t = { sauna: 0.4, b: 1 }',
      'const t = { sauna: 30, b: 1 }',
    ],
    [
      'another word for a key',
      "const t = { Sauna: 'hot', b: 'c' }",
      "const t = { sauna: 'hot', b: 'c' }",
    ],
    ['no items', 'use(all)', 'if (all.length > 0) use(all)'],
    ['a limit of a length', 'use(text)', 'use(text.length > 8000 ? text.slice(-8000) : text)'],
    [
      'a case of its own',
      'use(order)',
      "if (typeof order === 'string') use(order)\nelse use(order.id)",
    ],
    ['months from 0', 'new Date(y, m, d)', 'new Date(y, m - 1, d)'],
    ['a pause', 'await call()', 'await sleep(after * 1000 + 50)\nsetTimeout(again, ms + 500)'],
    ['a position', 'use(text)', "use(text.slice(text.indexOf('{') + 3))"],
    ['a limit with room', 'call({ max_tokens: 30 })', 'call({ max_tokens: 2000 })'],
    ['rounding', 'use(Math.floor(euros * 100))', 'use(Math.round(euros * 100))'],
    ['one more page of a list', 'use(Math.floor(n / size))', 'use(Math.ceil(n / size))'],
    ['a part of a text', 'use(text)', "use(text.split(':')[1])"],
    ['a group of a match', 'use(text)', 'const match = /(a)(b)/.exec(text)\nuse(match[2])'],
    [
      'all pages',
      'const { items } = await list({ customer })',
      'for (let cursor = 0; cursor !== undefined; ) { const page = await list({ customer, cursor })\n cursor = page.next }',
    ],
    ['another order', 'use(all.toSorted())', 'use(all.toSorted((a, b) => a - b))'],
    [
      'both sites',
      'const a = JSON.parse(one.text)\nconst b = JSON.parse(two.text)',
      'const a = JSON.parse(unfence(one.text))\nconst b = JSON.parse(unfence(two.text))',
    ],
    [
      'names of a schema',
      'const s = { type: 1, required: [] }',
      "const s = { type: 1, required: ['sauna'] }",
    ],
    ['a newer model', "const m = { careful: 'gpt-4-32k' }", "const m = { careful: 'gpt-4.1' }"],
  ])('%s', (_what, before, after) => {
    expect(codesOf(before, after)).toEqual([])
  })

  test('a rule, which is tested with many runs', () => {
    expect(codesOf('use(all.slice(-4))', 'use(all.slice(-5))', { author: 'rule' })).toEqual([])
  })
})
