import { expect, test } from 'vitest'
import type { PastCall } from './call-history.js'
import { judgeCalls } from './compiled-policy.js'
import type { Rule } from './policy.js'

const call = (tool: string, args: unknown, more: Partial<PastCall> = {}): PastCall => ({
  tool,
  args,
  effects: undefined,
  status: 'done',
  output: 'a text that nobody should trust',
  ...more,
})

/** Why a rule stops the last of these calls; undefined if it does not. */
const why = (rule: Rule, ...calls: PastCall[]): string | undefined =>
  judgeCalls([{ name: 'p', rules: [rule] }], calls).at(-1)?.denial?.why

test.each<[Rule, PastCall[], string | undefined]>([
  [{ deny: 'b' }, [call('a', {})], undefined],
  [{ deny: '*' }, [call('a', {})], 'Rule p/1 denies it.'],
  [{ deny: '*', effect: 'shell' }, [call('a', {}, { effects: ['read'] })], undefined],
  [
    { deny: '*', effect: 'shell' },
    [call('a', {})],
    'a declares no effects, so it may have any effect.',
  ],
  [{ deny: '*', declares: 'shell' }, [call('a', {})], undefined],
  [{ deny: '*', when: { n: { over: 5 } } }, [call('a', { n: 3 })], undefined],
  [{ deny: '*', when: { n: { over: 5 } } }, [call('a', {})], undefined],
  [{ deny: '*', when: { n: 5 } }, [call('a', { n: 5 })], 'n is 5.'],
  [
    { deny: '*', when: { n: { over: 5 } } },
    [call('a', { n: 'lots' })],
    'n is "lots", which may be over 5.',
  ],
  [
    { deny: '*', when: { 'i.*.p': { in: [1, 2] } } },
    [call('a', { i: [{ p: 0 }, { p: 2 }] })],
    'i[1].p is 2, one of 1, 2.',
  ],
  [
    { deny: '*', when: { url: { not: { startsWith: 'https:' } } } },
    [call('a', { url: 'http://x' })],
    'url is "http://x", not starting with "https:".',
  ],
  [{ deny: 'a', moreThan: 1 }, [call('a', {})], undefined],
  [
    { deny: 'a', moreThan: 1, within: 9 },
    [call('a', {}), call('a', {})],
    'It would be more than 1 call of a among the last 9 calls.',
  ],
  [{ deny: 'a', after: { tool: 'b' } }, [call('a', {})], undefined],
  [
    { deny: 'a', after: { tool: 'b', effect: 'read', when: { x: 1 } } },
    [call('b', { x: 1 }), call('a', {})],
    'A call of b (effect read) with x 1 came before.',
  ],
  [{ deny: 'a', tainted: 'b' }, [call('a', { t: 'x' })], undefined],
  [
    { deny: 'a', tainted: 'b' },
    [call('b', {}), call('a', { t: 'nobody should trust' })],
    't contains text that b returned: "nobody should trust".',
  ],
])('%j', (rule, calls, expected) => {
  expect(why(rule, ...calls)).toBe(expected)
})

test('a scope denies before any rule', () => {
  const [judged] = judgeCalls(
    [{ name: 'p', network: { allow: ['api.example.com'] }, rules: [{ id: 'all', allow: '*' }] }],
    [call('fetch', { url: 'http://127.0.0.1/' })],
  )
  expect(judged?.rule).toBe('p/network')
})
