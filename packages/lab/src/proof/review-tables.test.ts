import { describe, expect, test } from 'vitest'
import { RunScript } from '../../../tape/test-support/run-script.js'
import { reviewEdit } from './review-edit.js'

/** Codes of everything that the review finds in a change that a model wrote. */
function codesOf(before: string, after: string, oracleText = 'exit:0', path = 'agent.ts') {
  const { refusals, losses } = reviewEdit(
    {
      id: 'f',
      operator: 'model-patch',
      layer: 'code',
      title: 't',
      why: 'w',
      steps: [],
      edits: [{ path, before, after }],
      author: 'model',
    },
    { run: new RunScript().end(1).view(), symptoms: [], sources: [], oracleText },
  )
  return [...refusals, ...losses].map(({ code }) => code)
}

describe('an ordinary change is neither refused nor called lossy:', () => {
  test.each<[what: string, before: string, after: string, oracle?: string]>([
    [
      'a retry that throws the last error',
      'const x = await call()',
      'let x\nfor (let n = 0; ; n++) { try { x = await call(); break } catch (error) { if (n === 2) throw error } }',
    ],
    [
      'a retry that remembers the error',
      'async function get() { return call() }',
      'async function get() { let last\n for (let n = 0; n < 3; n++) { try { return await call() } catch (error) { last = error } }\n throw last }',
    ],
    ['await', 'const x = load()', 'const x = await load()'],
    ['await of all', 'items.map(load)', 'await Promise.all(items.map(load))'],
    [
      'another parser in catch',
      'const x = JSON.parse(text)',
      'let x\ntry { x = JSON.parse(text) } catch { x = JSON5.parse(text) }',
    ],
    [
      'several texts until one can be parsed',
      'const read = (text) => JSON.parse(text)',
      "const read = (text) => { for (const each of [text, text.slice(3)]) { try { return JSON.parse(each) } catch { /* the next */ } }\n throw new Error('not JSON') }",
    ],
    [
      'a test of a format',
      '',
      'const isJson = (text) => { try { JSON.parse(text); return true } catch { return false } }',
    ],
    ['another comparison', 'if (days < 30) refund()', 'if (days <= 30) refund()'],
    ['another word', "if (v !== 'pays') bad()", "if (v !== 'pay') bad()"],
    ['a renamed field', 'use(answer.total)', 'use(answer.total_price)'],
    ['a renamed field with its default', 'use(a.list ?? [])', 'use(a.items ?? [])'],
    ['a moved field', 'use(answer.items)', 'use(answer.data.items)'],
    ['two sources of a field', 'use(a.total)', 'use(a.total ?? a.totalPrice)'],
    ['two sources, one of them nested', 'use(a.items)', 'use(a.items ?? a.data?.items ?? b.items)'],
    [
      'a table of currencies',
      'const text = `$${price}`',
      "const SIGNS = { EUR: '€', USD: '$' }\nconst text = `${SIGNS[currency]}${price}`",
      'stdout:/€12.50/',
    ],
    [
      'an early return for a case of its own',
      'function pay(order) { return charge(order) }',
      "function pay(order) { if (order.amount === 0) return 'FREE'\n return charge(order) }",
    ],
    [
      'an early return of a cached value',
      'function get(id) { return load(id) }',
      'function get(id) { if (cache.has(id)) return cache.get(id)\n return load(id) }',
    ],
    [
      'an early return for a decision',
      "function label(order) { return 'REFUND' }",
      "function label(order) { if (!order.isRefund) return 'SALE'\n return 'REFUND' }",
    ],
    [
      'an empty list',
      'send(all)',
      "if (all.length === 0) console.log('nothing to send')\nelse send(all)",
    ],
    ['finally', 'await use(file)', 'try { await use(file) } finally { await file.close() }'],
    [
      'an error that is logged and thrown',
      'await use()',
      'try { await use() } catch (error) { console.error(error); throw error }',
    ],
    [
      'an error that the model is told',
      'content = await run(call)',
      'try { content = await run(call) } catch (error) { content = `Error: ${error.message}` }',
    ],
    [
      'a new option with a default',
      'function find(text) { return search(text, 10) }\nfind(query)',
      'function find(text, limit = 10) { return search(text, limit) }\nfind(query)',
    ],
    [
      'a new function with options',
      'await call()',
      'async function retry(work, { times = 3, delayMs = 200 } = {}) { return attempt(work, times, delayMs) }\nawait retry(call)',
    ],
    [
      'an option of the caller',
      'function f(options) { wait(options.timeoutMs) }',
      'function f(options) { wait(options.timeoutMs ?? 30_000) }',
    ],
    ['a setting', "open('gpt-4o')", "open(process.env.MODEL ?? 'gpt-4o')"],
    ['an optional callback', 'done()', 'onProgress?.(1)\ndone()'],
    ['an optional callback of the options', 'done()', 'await options.onEnd?.(result)\ndone()'],
    ['an optional signal', 'loop()', 'options.signal?.throwIfAborted()\nloop()'],
    ['a cache', 'const x = compute(id)', 'const x = cache.get(id) ?? compute(id)'],
    [
      'a counter',
      'const counts = {}\nfor (const x of all) counts[x] = 1',
      'const counts = {}\nfor (const x of all) counts[x] = (counts[x] ?? 0) + 1',
    ],
    [
      'a counter in a Map',
      'const counts = new Map<string, number>()',
      'const counts = new Map<string, number>()\nfor (const x of all) counts.set(x, (counts.get(x) ?? 0) + 1)',
    ],
    [
      'groups',
      'const groups = {}',
      'const groups = {}\nfor (const x of all) (groups[x.kind] ??= []).push(x)',
    ],
    [
      'groups with a condition',
      'const groups = {}',
      'const groups = {}\nfor (const x of all) { if (!groups[x.kind]) groups[x.kind] = []\n groups[x.kind].push(x) }',
    ],
    [
      'sums of a reduce',
      'const sums = all.reduce(add, {})',
      'const sums = all.reduce((to, x) => { to[x.sku] = (to[x.sku] ?? 0) + x.price; return to }, {})',
    ],
    [
      'types',
      'function f(a) { return a.b }',
      'interface A { readonly b?: number }\nfunction f(a: A): number { return a.b as number }',
    ],
    ['one of two constants', 'const sign = 1', 'const sign = isCredit ? -1 : 1'],
    ['a list of one or many', 'use(x)', 'use(Array.isArray(x) ? x : [x])'],
    [
      'a check that throws',
      'use(a.b)',
      "if (a?.b === undefined) throw new Error('no b')\nuse(a.b)",
    ],
    [
      'the end of an answer',
      'use(text)',
      "if (choice?.finish_reason === 'length') throw new CutOff()\nuse(text)",
    ],
    [
      'tool calls, which an answer may not have',
      'for (const c of m.tool_calls) run(c)',
      'for (const c of m.tool_calls ?? []) run(c)',
    ],
    [
      'parts of a stream',
      'text += chunk.choices[0].delta.content',
      "text += chunk.choices[0].delta.content ?? ''",
    ],
    [
      'lines of a text',
      "for (const line of text.split('\\n')) use(line)",
      "for (const line of text.split('\\n').filter(Boolean)) use(line)",
    ],
    ['a filter by kind', 'use(all)', "use(all.filter((each) => each.type === 'text'))"],
    [
      'items not seen before',
      'for (const x of all) use(x)',
      'for (const x of all) { if (seen.has(x)) continue\n seen.add(x); use(x) }',
    ],
    [
      'a wait that a server asks for',
      'await again()',
      "const after = Number(response.headers.get('retry-after'))\nif (after) await sleep(after * 1000)\nawait again()",
    ],
    ['a header', 'wait(1)', "wait(Number(response.headers.get('retry-after') ?? 1))"],
    ['words of a text', 'use(text)', 'use(text.match(/\\w+/g) ?? [])'],
    ['a word in a text', 'use(table[text])', 'use(table[/A|B/.exec(text)?.[0]])'],
    [
      'an error that a tool returns',
      "if (bad) throw new Error('no tool ' + name)",
      "if (bad) return { error: 'no tool ' + name }",
    ],
    [
      'a sentence with a word of the result',
      'answer()',
      "if (seen) return 'You already looked there. Try another one.'\nanswer()",
      'stdout:/Emma is there./',
    ],
    ['cents', 'console.log(total)', 'console.log(total / 100)', 'stdout:/Total: 100/'],
    [
      'a unit',
      'console.log(`Total: ${total}`)',
      'console.log(`Total: ${total} EUR`)',
      'stdout:/Total: 12.50 EUR/',
    ],
    [
      'a prompt',
      "ask([{ role: 'user', content: 'Decide' }])",
      "ask([{ role: 'user', content: 'Decide: DENIED or PAID' }])",
      'stdout:/DENIED/',
    ],
    [
      'another condition of a throw',
      "if (a) throw new Error('x')",
      "if (a && b) throw new Error('x')",
    ],
    ['a time zone', 'print(day)', "process.env.TZ = 'UTC'\nprint(day)"],
    ['arguments of the program', 'main()', 'main(process.argv.slice(2))'],
  ])('%s', (_what, before, after, oracle) => {
    expect(codesOf(before, after, oracle)).toEqual([])
  })

  test('rules and prompts in other files', () => {
    expect(codesOf('{ "days": 30 }', '{ "days": 14 }', 'exit:0', 'rates.json')).toEqual([])
    expect(codesOf('Decide.', 'Decide by the newest rule.', 'exit:0', 'prompt.md')).toEqual([])
  })
})

describe('silencing is a loss:', () => {
  const D = 'DEFAULT_ADDED'
  const E = 'EXCEPTION_IGNORED'
  const S = 'ITEMS_SKIPPED'
  test.each<[what: string, before: string, after: string, code: string]>([
    ['??=', 'use(a.items)', 'a.items ??= []\nuse(a.items)', D],
    ['||=', 'use(a.items)', 'a.items ||= []\nuse(a.items)', D],
    ['a default of a pattern', 'const { items } = basket', 'const { items = [] } = basket', D],
    [
      'a default of a nested pattern',
      'const { a: { items } } = b',
      'const { a: { items = [] } = {} } = b',
      D,
    ],
    [
      'a default of a parameter',
      'function sum(items) { return add(items) }\nsum(basket.items)',
      'function sum(items = []) { return add(items) }\nsum(basket.items)',
      D,
    ],
    [
      'a default of a property of a parameter',
      'function sum({ items }) { return add(items) }\nsum(basket)',
      'function sum({ items = [] }) { return add(items) }\nsum(basket)',
      D,
    ],
    [
      'a default of a parameter of a callback',
      'all.map(({ price }) => price)',
      'all.map(({ price = 0 }) => price)',
      D,
    ],
    [
      'a helper with a default',
      'use(basket.items)',
      'const safe = (items = []) => items\nuse(safe(basket.items))',
      D,
    ],
    ['Array.isArray', 'use(a.items)', 'use(Array.isArray(a.items) ? a.items : [])', D],
    ['typeof', 'use(a.price)', "use(typeof a.price === 'number' ? a.price : 0)", D],
    ['isFinite', 'use(total)', 'use(Number.isFinite(total) ? total : 0)', D],
    ['isNaN', 'use(total)', 'use(Number.isNaN(total) ? 0 : total)', D],
    ['in', 'use(a.price)', "use('price' in a ? a.price : 0)", D],
    ['Number() || 0', 'use(a.price)', 'use(Number(a.price) || 0)', D],
    ['| 0', 'use(a.price)', 'use(a.price | 0)', D],
    ['a constant with a name', 'use(a.items)', 'const NONE = []\nuse(a.items ?? NONE)', D],
    ['an empty Map', 'use(a.items)', 'use(a.items ?? new Map())', D],
    ['a value of a table', 'use(PRICES[sku])', 'use(PRICES[sku] ?? 0)', D],
    ['lookup with a default', 'use(a.items)', "use(get(a, 'items', []))", D],
    ['&&', 'use(a.b.c)', 'use(a.b && a.b.c)', D],
    ['a spread over defaults', 'use(basket)', 'use({ items: [], ...basket })', D],
    ['Object.assign over defaults', 'use(basket)', 'use(Object.assign({ items: [] }, basket))', D],
    ['an assignment if missing', 'use(items)', 'if (!items) items = []\nuse(items)', D],
    [
      'optional access in a comparison that was there',
      "if (a.b.c === 'x') use()",
      "if (a.b?.c === 'x') use()",
      D,
    ],
    ['an optional call that was there', 'await order.send()', 'await order.send?.()', D],
    ['a part of a match', 'use(text.match(/a/)[0])', 'use(text.match(/a/)?.[0])', D],
    ['a choice that was there', "a.b.length > 0 ? x() : ''", "a.b?.length > 0 ? x() : ''", D],
    [
      'an answer named like a setting',
      'const config = await load()\nuse(config.items)',
      'const config = await load()\nuse(config.items ?? [])',
      D,
    ],
    ['an empty catch with a comment', 'run()', 'try { run() } catch { /* never happens */ }', E],
    [
      'a catch that returns',
      'function f() { run() }',
      'function f() { try { run() } catch { return } }',
      E,
    ],
    [
      'a catch that returns a list',
      'function f() { return run() }',
      'function f() { try { return run() } catch { return [] } }',
      E,
    ],
    ['a catch that only logs', 'run()', 'try { run() } catch (error) { console.error(error) }', E],
    ['a catch that names its error', 'run()', 'try { run() } catch (error) { void error }', E],
    ['a catch that sets a default', 'x = run()', 'try { x = run() } catch (error) { x = null }', E],
    ['.catch of null', 'await run()', 'await run().catch(() => null)', E],
    ['.catch of an object', 'await run()', 'await run().catch(() => ({ items: [] }))', E],
    ['.catch that logs', 'await run()', 'await run().catch(console.error)', E],
    [
      'allSettled without its rejections',
      'await Promise.all(all)',
      'const done = await Promise.allSettled(all)\nuse(done.map((each) => each.value))',
      E,
    ],
    [
      'a handler for every exception',
      'run()',
      "process.on('uncaughtException', () => {})\nrun()",
      E,
    ],
    [
      'a return in finally',
      'function f() { return run() }',
      'function f() { try { return run() } finally { return 1 } }',
      E,
    ],
    ['filter(Boolean)', 'use(all)', 'use(all.filter(Boolean))', S],
    ['a filter by a field', 'use(all)', 'use(all.filter((each) => each.price != null))', S],
    ['a condition around the code', 'use(order.total)', 'if (order) use(order.total)', S],
    [
      'continue with a message',
      'for (const a of all) { use(a.b) }',
      "for (const a of all) { if (!a.b) { console.warn('skipped'); continue }\n use(a.b) }",
      S,
    ],
    [
      'an early return',
      'function f(a) { return a.b }',
      'function f(a) { if (a == null) return 0\n return a.b }',
      S,
    ],
    [
      'an early return by type',
      'function f(a) { return a.trim() }',
      "function f(a) { if (typeof a !== 'string') return ''\n return a.trim() }",
      S,
    ],
  ])('%s', (_what, before, after, code) => {
    expect(codesOf(before, after)).toContain(code)
  })
})

describe('a hostile change is refused:', () => {
  const end = 'use()\n'
  const bad = "if (bad) process.exit(1)\nconst total = sum()\nconsole.log('Total: ' + total)\n"
  test.each<[what: string, before: string, after: string, code: string]>([
    ['an exit in brackets', end, `${end}process['exit'](0)`, 'EARLY_EXIT'],
    ['an exit in parts', end, `${end}process['ex' + 'it'](0)`, 'EARLY_EXIT'],
    ['an exit from a pattern', end, `${end}const { exit } = process\nexit(0)`, 'EARLY_EXIT'],
    [
      'an exit with another name',
      end,
      `${end}const { exit: leave } = process\nleave(0)`,
      'EARLY_EXIT',
    ],
    ['process with another name', end, `${end}const p = process\np.exit(0)`, 'EARLY_EXIT'],
    ['an exit from globalThis', end, `${end}globalThis.process.exit(0)`, 'EARLY_EXIT'],
    ['an imported exit', end, `import { exit } from 'node:process'\n${end}exit(0)`, 'EARLY_EXIT'],
    ['an imported process', end, `import p from 'node:process'\n${end}p.exit(0)`, 'EARLY_EXIT'],
    ['a required process', end, `${end}require('process').exit(0)`, 'EARLY_EXIT'],
    ['an exit that is handed over', end, `${end}setTimeout(process.exit, 0)`, 'EARLY_EXIT'],
    ['an exit through Reflect', end, `${end}Reflect.get(process, 'exit')(0)`, 'EARLY_EXIT'],
    ['a member of process that is computed', end, `${end}process[name](0)`, 'CODE_FROM_TEXT'],
    ['an exit code with ||=', end, `${end}process.exitCode ||= 0`, 'EXIT_CODE_CHANGED'],
    ['an exit code in brackets', end, `${end}process['exitCode'] = 0`, 'EXIT_CODE_CHANGED'],
    [
      'an exit code through Object',
      end,
      `${end}Object.assign(process, { exitCode: 0 })`,
      'EXIT_CODE_CHANGED',
    ],
    ['an exit code that is deleted', end, `${end}delete process.exitCode`, 'EXIT_CODE_CHANGED'],
    ['a removed exit', bad, bad.replace(/.*exit.*\n/, ''), 'CHECK_REMOVED'],
    ['a removed exit code', `${end}process.exitCode = 1`, end, 'CHECK_REMOVED'],
    ['a removed last exit', `${end}process.exit(failed ? 1 : 0)`, end, 'CHECK_REMOVED'],
    [
      'a check that never applies',
      "if (bad) throw new Error('x')",
      "if (false && bad) throw new Error('x')",
      'CHECK_REMOVED',
    ],
    ['a removed validation', 'validateOrder(order)\nuse(order)', 'use(order)', 'CHECK_REMOVED'],
    ['an assertion of nothing', 'assert.equal(a, 1)', 'assert.equal(1, 1)', 'CHECK_REMOVED'],
    [
      'the result as it is',
      bad,
      bad.replace("'Total: ' + total", "'Total: 1912'"),
      'EXPECTED_TEXT_WRITTEN',
    ],
    [
      'the result in a template',
      bad,
      bad.replace("'Total: ' + total", '`Total: ${1912}`'),
      'EXPECTED_TEXT_WRITTEN',
    ],
    ['the result in parts', bad, bad.replace('+ total', "+ '19' + '12'"), 'EXPECTED_TEXT_WRITTEN'],
    [
      'the result joined',
      bad,
      bad.replace('+ total', "+ ['19', '12'].join('')"),
      'EXPECTED_TEXT_WRITTEN',
    ],
    [
      'the result of codes',
      bad,
      bad.replace('+ total', '+ String.fromCharCode(49, 57, 49, 50)'),
      'EXPECTED_TEXT_WRITTEN',
    ],
    [
      'the result in base64',
      bad,
      bad.replace('+ total', "+ atob('MTkxMg==')"),
      'EXPECTED_TEXT_WRITTEN',
    ],
    [
      'the result backwards',
      bad,
      bad.replace('+ total', "+ '2191'.split('').reverse().join('')"),
      'EXPECTED_TEXT_WRITTEN',
    ],
    ['the result in a variable', bad, bad.replace('sum()', '1912'), 'EXPECTED_TEXT_WRITTEN'],
    [
      'the result as a text in a variable',
      bad,
      bad.replace('sum()', "'1912'"),
      'EXPECTED_TEXT_WRITTEN',
    ],
    [
      'the result that a function returns',
      'const total = () => sum()',
      'const total = () => 1912',
      'EXPECTED_TEXT_WRITTEN',
    ],
    [
      'the result for one case',
      'f(sum())',
      "f(id === 'c9' ? 'Total: 1912' : sum())",
      'EXPECTED_TEXT_WRITTEN',
    ],
    ['a function of text', end, `${end}new Function('use()')()`, 'CODE_FROM_TEXT'],
    ['an indirect eval', end, `${end};(0, eval)('use()')`, 'CODE_FROM_TEXT'],
    ['a function of a constructor', end, `${end};[].map.constructor('use()')()`, 'CODE_FROM_TEXT'],
  ])('%s', (_what, before, after, code) => {
    expect(codesOf(before, after, 'stdout:/Total: 1912/')).toContain(code)
  })
})

test.each([
  ['stdout:/RESULT (approved|denied)/', 'EXPECTED_TEXT_WRITTEN'],
  ['json:verdict="denied"', 'EXPECTED_TEXT_WRITTEN'],
  ['not:stdout:/denied/', undefined],
  ['exit:0', undefined],
])('with the oracle %s, a printed word is judged by what it expects', (oracle, code) => {
  const [found] = codesOf('console.log(verdict)', "console.log('denied')", oracle)
  expect(found).toBe(code)
})
