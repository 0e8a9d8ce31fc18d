import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CallHistory, type PastCall } from './call-history.js'
import { CompiledPolicy, judgeCalls, policyHash } from './compiled-policy.js'
import { effectBits } from './compiled-rule.js'
import type { Policy, Rule } from './policy.js'

const RANK = { allow: 0, ask: 1, deny: 2 }
const EFFECTS = ['read', 'write', 'network'] as const

const names = fc.constantFrom('a', 'b', 'c', 'a*', '*')
const predicate = fc.oneof(
  fc.record({ over: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ in: fc.constant([1, 'x']) }),
  fc.record({ not: fc.constantFrom(1, 'x') }),
  fc.record({ exists: fc.boolean() }),
)
const narrowing = fc.record(
  {
    effect: fc.subarray([...EFFECTS], { minLength: 1 }),
    when: fc.dictionary(fc.constantFrom('n', '*', '**'), predicate, { minKeys: 1, maxKeys: 2 }),
    after: fc.record({ tool: names }),
  },
  { requiredKeys: [] },
)
const strictRule: fc.Arbitrary<Rule> = fc
  .tuple(
    fc.constantFrom('deny', 'ask'),
    names,
    narrowing,
    fc.option(fc.integer({ min: 0, max: 2 })),
  )
  .map(([verdict, tool, rest, moreThan]) => ({
    [verdict]: tool,
    ...rest,
    ...(moreThan !== null && { moreThan }),
  }))
const allowRule: fc.Arbitrary<Rule> = fc
  .tuple(names, narrowing)
  .map(([allow, rest]) => ({ allow, ...rest }))
const rules = fc.array(fc.oneof(strictRule, allowRule), { maxLength: 6 })
const verdict = fc.constantFrom('allow' as const, 'deny' as const, 'ask' as const)
const call: fc.Arbitrary<PastCall> = fc.record({
  tool: fc.constantFrom('a', 'ab', 'b', 'c'),
  args: fc.dictionary(fc.constantFrom('n', 'm'), fc.constantFrom(0, 1, 2, 5, 'x', '5', null, [1])),
  effects: fc.option(fc.subarray([...EFFECTS]), { nil: undefined }),
  status: fc.constantFrom('done' as const, 'failed' as const, 'denied' as const),
  output: fc.constant('out'),
})
const calls = fc.array(call, { minLength: 1, maxLength: 8 })

/** Rules that nothing else could ever reach are refused; laws are about the rest. */
const reachable = (each: readonly Rule[]): Rule[] => {
  const kept: Rule[] = []
  for (const rule of each) {
    try {
      void new CompiledPolicy([{ name: 'p', rules: [...kept, rule] }])
      kept.push(rule)
    } catch {
      // Left out.
    }
  }
  return kept
}
const policy: fc.Arbitrary<Policy> = fc
  .tuple(rules, verdict)
  .map(([each, byDefault]) => ({ name: 'p', default: byDefault, rules: reachable(each) }))

const ranks = (policies: readonly Policy[], made: readonly PastCall[]): number[] =>
  judgeCalls(policies, made).map((each) => RANK[each.verdict])

test('the first rule that matches decides', () => {
  fc.assert(
    fc.property(policy, calls, (given, made) => {
      const compiled = new CompiledPolicy([given])
      const history = new CallHistory(compiled)
      for (const each of made) {
        const first = compiled.rules[0]?.rules.find(
          (rule) =>
            rule.filter.fitsName(each.tool) &&
            rule.matches(effectBits(each.effects), each.args, history),
        )
        const judgement = compiled.judge(each, history)
        expect(judgement.verdict).toBe(first?.verdict ?? given.default)
        expect(judgement.rule).toBe(first?.name)
        history.add(each)
      }
    }),
  )
})

test('one more rule that denies never allows more', () => {
  fc.assert(
    fc.property(policy, strictRule, fc.nat(6), calls, (given, rule, at, made) => {
      const { ask, deny = ask, ...rest } = rule
      const more = [...(given.rules ?? [])]
      more.splice(at, 0, { ...rest, deny: deny ?? '*' })
      fc.pre(reachable(more).length === more.length)
      const before = ranks([given], made)
      const after = ranks([{ ...given, rules: more }], made)
      for (const [index, rank] of after.entries())
        expect(rank).toBeGreaterThanOrEqual(before[index] ?? 0)
    }),
  )
})

test('the strictest of several policies applies, in any order', () => {
  fc.assert(
    fc.property(policy, policy, calls, (left, right, made) => {
      const [one, other] = [left, { ...right, name: 'q' }]
      const alone = [ranks([one], made), ranks([other], made)]
      const expected = made.map((_, index) => Math.max(...alone.map((each) => each[index] ?? 0)))
      expect(ranks([one, other], made)).toEqual(expected)
      expect(ranks([other, one], made)).toEqual(expected)
    }),
  )
})

test('the first of several denials is reported', () => {
  const deny = (name: string): Policy => ({ name, rules: [{ id: 'x', deny: '*' }] })
  const ask: Policy = { name: 'ask', rules: [{ ask: '*' }] }
  const made: PastCall = { tool: 't', args: {}, effects: [], status: 'done', output: 1 }
  expect(judgeCalls([ask, deny('one'), deny('two')], [made])[0]?.rule).toBe('one/x')
})

/** The same data with the keys of every object the other way round. */
const turned = (data: unknown): unknown => {
  if (Array.isArray(data)) return data.map(turned)
  if (typeof data !== 'object' || data === null) return data
  return Object.fromEntries(
    Object.entries(data)
      .toReversed()
      .map(([key, value]) => [key, turned(value)]),
  )
}

test('the order of keys changes neither verdict nor hash', () => {
  fc.assert(
    fc.property(policy, calls, (given, made) => {
      const other = turned(given) as Policy
      expect(policyHash([other])).toBe(policyHash([given]))
      expect(judgeCalls([other], made).map(({ rule, verdict: said }) => [rule, said])).toEqual(
        judgeCalls([given], made).map(({ rule, verdict: said }) => [rule, said]),
      )
    }),
  )
})

test('judging twice gives the same, and leaves no trace', () => {
  fc.assert(
    fc.property(policy, calls, (given, made) => {
      const compiled = new CompiledPolicy([given])
      const history = new CallHistory(compiled)
      for (const each of made) {
        const first = compiled.judge(each, history)
        expect(compiled.judge(each, history)).toEqual(first)
        history.add(each)
      }
    }),
  )
})

test('the hash is the same wherever the project lies, and another when a rule changes', () => {
  const at = (folder: string): Policy => ({
    name: 'p',
    files: { read: [folder, `${folder}/data`], write: ['/srv/other'] },
  })
  expect(policyHash([at('/home/ann/project')], '/home/ann/project')).toBe(
    policyHash([at('/builds/7')], '/builds/7'),
  )
  // A folder beside it that only begins alike is another.
  expect(policyHash([at('/builds/70')], '/builds/7')).toBe(policyHash([at('/builds/70')], '/opt'))
  expect(policyHash([{ name: 'p', rules: [{ deny: 'a' }] }])).not.toBe(
    policyHash([{ name: 'p', rules: [{ deny: 'b' }] }]),
  )
  expect(policyHash([JSON.parse('{"name":"p","rules":[]}') as Policy])).toBe(
    policyHash([{ name: 'p', rules: [] }]),
  )
})
