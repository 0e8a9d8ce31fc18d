import { expect, test } from 'vitest'
import type { PastCall } from './call-history.js'
import { explainCalls } from './explain.js'
import type { Rule } from './policy.js'

const call = (tool: string, args: unknown, more: Partial<PastCall> = {}): PastCall => ({
  tool,
  args,
  effects: undefined,
  status: 'done',
  output: 'a text that nobody should trust',
  ...more,
})

/** Why a rule matches the last of these calls, or why not. */
const why = (rule: Rule, ...calls: PastCall[]): string | undefined => {
  const [explained] = explainCalls([{ name: 'p', rules: [rule] }], calls).at(-1)?.rules ?? []
  return explained && `${explained.matched ? 'yes' : 'no'}: ${explained.why}`
}

test.each<[Rule, PastCall[], string]>([
  [{ deny: 'b' }, [call('a', {})], 'no: the rule is about b'],
  [{ deny: '*' }, [call('a', {})], 'yes: the rule is about every call of a'],
  [
    { deny: '*', effect: 'shell' },
    [call('a', {}, { effects: ['read'] })],
    'no: a declares the effects read; the rule is about shell',
  ],
  [
    { deny: '*', effect: 'shell' },
    [call('a', {})],
    'yes: a declares no effects, so it may have any effect',
  ],
  [
    { deny: '*', declares: 'shell' },
    [call('a', {})],
    'no: a declares no effects; the rule is about shell',
  ],
  [
    { deny: '*', when: { n: { over: 5 } } },
    [call('a', { n: 3 })],
    'no: n is 3; the rule is about over 5',
  ],
  [
    { deny: '*', when: { n: { over: 5 } } },
    [call('a', {})],
    'no: n is missing; the rule is about over 5',
  ],
  [{ deny: '*', when: { n: 5 } }, [call('a', { n: 5 })], 'yes: n is 5'],
  [
    { deny: '*', when: { n: { over: 5 } } },
    [call('a', { n: 'lots' })],
    'yes: n is "lots", which may be over 5',
  ],
  [
    { deny: '*', when: { 'i.*.p': { in: [1, 2] } } },
    [call('a', { i: [{ p: 0 }, { p: 2 }] })],
    'yes: i[1].p is 2, one of 1, 2',
  ],
  [
    { allow: '*', when: { 'i.*.p': { in: [1, 2] } } },
    [call('a', { i: [{ p: 1 }, { p: 3 }] })],
    'no: i[1].p is 3; the rule is about one of 1, 2',
  ],
  [
    { deny: '*', when: { url: { not: { startsWith: 'https:' } } } },
    [call('a', { url: 'http://x' })],
    'yes: url is "http://x", not starting with "https:"',
  ],
  [{ deny: 'a', moreThan: 1 }, [call('a', {})], 'no: it is not more than 1 call of a'],
  [
    { deny: 'a', moreThan: 1, within: 9 },
    [call('a', {}), call('a', {})],
    'yes: it would be more than 1 call of a among the last 9 calls',
  ],
  [{ deny: 'a', after: { tool: 'b' } }, [call('a', {})], 'no: no call of b came before'],
  [
    { deny: 'a', after: { tool: 'b', effect: 'read', when: { x: 1 } } },
    [call('b', { x: 1 }), call('a', {})],
    'yes: a call of b (effect read) with x 1 came before',
  ],
  [
    { deny: 'a', tainted: 'b' },
    [call('a', { t: 'x' })],
    'no: no argument contains text that b returned',
  ],
  [
    { deny: 'a', tainted: 'b' },
    [call('b', {}), call('a', { t: 'nobody should trust' })],
    'yes: t contains text that b returned: "nobody should trust"',
  ],
])('%j', (rule, calls, expected) => {
  expect(why(rule, ...calls)).toBe(expected)
})

test('a denial by a scope is distinguished from rules', () => {
  const [explained] = explainCalls(
    [{ name: 'p', network: { allow: ['api.example.com'] }, rules: [{ id: 'all', allow: '*' }] }],
    [call('fetch', { url: 'http://127.0.0.1/' })],
  )
  expect(explained?.judgement.verdict).toBe('deny')
  expect(explained?.outside).toEqual(explained?.judgement.denial)
  expect(explained?.rules.map(({ rule, matched }) => [rule, matched])).toEqual([
    ['p/all', true],
    ['p/default', false],
  ])
})
