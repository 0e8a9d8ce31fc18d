import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { CallHistory, type PastCall } from './call-history.js'
import { CompiledPolicy, judgeCalls, type JudgedCall } from './compiled-policy.js'
import type { Policy, Rule } from './policy.js'

const call = (tool: string, args: unknown = {}, more: Partial<PastCall> = {}): PastCall => ({
  tool,
  args,
  effects: undefined,
  status: 'done',
  output: undefined,
  ...more,
})

const judge = (rules: readonly Rule[], judged: JudgedCall, rest: Partial<Policy> = {}) => {
  const policy = new CompiledPolicy([{ name: 'p', rules, ...rest }])
  return policy.judge(judged, new CallHistory(policy))
}

const verdicts = (rules: readonly Rule[], calls: readonly PastCall[]): string[] =>
  judgeCalls([{ name: 'p', rules }], calls).map(({ verdict }) => verdict)

describe('which calls a rule is about', () => {
  test.each<[string | string[], string, boolean]>([
    ['*', 'x', true],
    ['read_*', 'read_file', true],
    ['read_*', 'reread_file', false],
    ['*_file', 'read_file', true],
    ['a*b*c', 'aXbYc', true],
    ['a*b*c', 'acb', false],
    ['aa*aa', 'aaa', false],
    [['x', 'y*'], 'yes', true],
    ['a.b', 'axb', false],
    ['Read', 'read', false],
  ])('%j is about %s: %s', (deny, tool, expected) => {
    expect(judge([{ deny }], call(tool)).verdict).toBe(expected ? 'deny' : 'allow')
  })

  test.each<[Rule, PastCall['effects'], string]>([
    [{ deny: '*', effect: 'network' }, ['network', 'read'], 'deny'],
    [{ deny: '*', effect: 'network' }, ['read'], 'allow'],
    [{ deny: '*', effect: 'network' }, [], 'allow'],
    [{ deny: '*', effect: 'network' }, undefined, 'deny'],
    [{ deny: '*', effect: 'network' }, ['netwrok' as never], 'deny'],
    [{ ask: '*', effect: ['write', 'shell'] }, undefined, 'ask'],
    [{ deny: '*', declares: 'network' }, undefined, 'allow'],
    [{ deny: '*', declares: 'network' }, ['network'], 'deny'],
  ])('%j and effects %j: %s', (rule, effects, expected) => {
    expect(judge([rule], call('t', {}, { effects })).verdict).toBe(expected)
  })

  test.each<[PastCall['effects'], string]>([
    [['read'], 'allow'],
    [[], 'allow'],
    [['read', 'write'], 'deny'],
    [undefined, 'deny'],
  ])('a rule that allows by effect wants all of %j: %s', (effects, expected) => {
    const result = judge([{ allow: '*', effect: 'read' }], call('t', {}, { effects }), {
      default: 'deny',
    })
    expect(result.verdict).toBe(expected)
  })

  test.each<[unknown, string, string]>([
    [{ items: [{ price: 5 }, { price: 50 }] }, 'deny', 'deny'],
    [{ items: [{ price: 5 }] }, 'allow', 'allow'],
    [{ items: [] }, 'allow', 'deny'],
    [{ items: [{ price: 5 }, {}] }, 'allow', 'deny'],
    [{}, 'allow', 'deny'],
    [{ items: [{ price: '50' }] }, 'deny', 'deny'],
    [{ items: [{ price: '5' }] }, 'allow', 'deny'],
  ])('of %j any price over 10 denies (%s), all up to 10 allow (%s)', (args, any, all) => {
    expect(
      judge([{ deny: '*', when: { 'items.*.price': { over: 10 } } }], call('t', args)).verdict,
    ).toBe(any)
    const allowing = [{ allow: '*', when: { 'items.*.price': { atMost: 10 } } }]
    expect(judge(allowing, call('t', args), { default: 'deny' }).verdict).toBe(all)
  })

  test('arguments are read at the time of the call, also if they are the same object', () => {
    const rules = [{ deny: '*', when: { 'items.*': { over: 10 } } }]
    const policy = new CompiledPolicy([{ name: 'p', rules }])
    const history = new CallHistory(policy)
    const args = { items: [1] }
    expect(policy.judge(call('t', args), history).verdict).toBe('allow')
    args.items.push(50)
    expect(policy.judge(call('t', args), history).verdict).toBe('deny')
  })

  test.each([{ a: 'x' }, { a: { contains: 'x' } }, { '**.a': 'x' }])(
    'deep JSON may match %j, and the denial says why',
    (when) => {
      const a = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
      const denied = judge([{ deny: 't', when }], call('t', { a }))
      expect(denied.verdict).toBe('deny')
      expect(JSON.stringify(denied)).toMatch(/which may be/)
    },
  )

  test('for a missing value, only `exists: false` holds', () => {
    const rules = [{ deny: '*', when: { '**.url': { exists: false } } }]
    expect(judge(rules, call('t', { a: 1 })).verdict).toBe('deny')
    expect(judge(rules, call('t', { a: { url: 'x' } })).verdict).toBe('allow')
  })
})

describe('rules that look back', () => {
  test('a then not b', () => {
    const rules: Rule[] = [{ deny: 'b', after: { tool: 'a' } }]
    expect(verdicts(rules, [call('b'), call('a'), call('b'), call('c')])).toEqual([
      'allow',
      'allow',
      'deny',
      'allow',
    ])
  })

  test('failed calls and calls in doubt count for a denial; denied calls do not', () => {
    const rules: Rule[] = [{ deny: 'b', after: { tool: 'a' } }]
    const last = (status: PastCall['status'], started?: boolean) =>
      verdicts(rules, [
        call('a', {}, { status, ...(started !== undefined && { started }) }),
        call('b'),
      ])[1]
    expect(last('failed')).toBe('deny')
    expect(last('in doubt')).toBe('deny')
    expect(last('stopped')).toBe('deny')
    expect(last('stopped', false)).toBe('allow')
    expect(last('denied')).toBe('allow')
    expect(last('denied', true)).toBe('deny')
  })

  test('for an allowance only completed calls count, and all of a list', () => {
    const policy: Policy = {
      name: 'p',
      default: 'deny',
      rules: [{ allow: ['a', 'b'] }, { allow: 'deploy', after: [{ tool: 'a' }, { tool: 'b' }] }],
    }
    const calls = [call('a'), call('deploy'), call('b', {}, { status: 'failed' }), call('deploy')]
    expect(
      judgeCalls([policy], [...calls, call('b'), call('deploy')]).map((each) => each.verdict),
    ).toEqual(['allow', 'deny', 'allow', 'deny', 'allow', 'allow'])
  })

  test('after a secret was read, no network, not even for a tool that declares nothing', () => {
    const rules: Rule[] = [
      {
        deny: '*',
        effect: 'network',
        after: { tool: 'read_file', effect: 'read', when: { path: { endsWith: '.env' } } },
      },
    ]
    const read = (path: string) => call('read_file', { path }, { effects: ['read'] })
    const send = call('send', {}, { effects: ['network'] })
    expect(
      verdicts(rules, [read('a.txt'), send, read('x/.env'), send, call('any'), read('b')]),
    ).toEqual(['allow', 'allow', 'allow', 'deny', 'deny', 'allow'])
  })

  test('at most n calls, and with `within` of the last ones', () => {
    expect(
      verdicts(
        [{ deny: 's', moreThan: 2 }],
        Array.from({ length: 4 }, () => call('s')),
      ),
    ).toEqual(['allow', 'allow', 'deny', 'deny'])
    const rules: Rule[] = [{ deny: 's', moreThan: 1, within: 2 }]
    expect(
      verdicts(
        rules,
        ['s', 'x', 's', 'x', 'x', 's'].map((tool) => call(tool)),
      ),
    ).toEqual(['allow', 'allow', 'deny', 'allow', 'allow', 'allow'])
    expect(verdicts([{ deny: 's', moreThan: 0 }], [call('s')])).toEqual(['deny'])
  })

  test('a call that is tried again and again does not get out of the window', () => {
    const rules: Rule[] = [{ deny: 'b', after: { tool: 'a' }, within: 2 }]
    const policy = new CompiledPolicy([{ name: 'p', rules }])
    const history = new CallHistory(policy)
    history.add(call('a'))
    for (let count = 0; count < 5; count += 1) {
      expect(policy.judge(call('b'), history).verdict).toBe('deny')
      history.add(call('b', {}, { status: 'denied' }))
    }
    for (let count = 0; count < 5; count += 1) {
      const token = {}
      history.begin(call('c'), token)
      history.add(call('c', {}, { status: 'denied', started: false }), token)
      expect(policy.judge(call('b'), history).verdict).toBe('deny')
    }
    history.add(call('x'))
    expect(policy.judge(call('b'), history).verdict).toBe('deny')
    history.add(call('x'))
    expect(policy.judge(call('b'), history).verdict).toBe('allow')
  })

  test('calls under way count within a window, too', () => {
    const rules: Rule[] = [{ deny: 's', moreThan: 1, within: 3 }]
    const policy = new CompiledPolicy([{ name: 'p', rules }])
    const history = new CallHistory(policy)
    history.begin(call('s'), {})
    expect(policy.judge(call('s'), history).verdict).toBe('deny')
    for (let count = 0; count < 3; count += 1) history.add(call('x'))
    expect(policy.judge(call('s'), history).verdict).toBe('allow')
  })

  test('calls under way count, until it is known that they never started', () => {
    const policy = new CompiledPolicy([{ name: 'p', rules: [{ deny: 's', moreThan: 1 }] }])
    const history = new CallHistory(policy)
    const token = {}
    history.begin(call('s'), token)
    expect(policy.judge(call('s'), history).verdict).toBe('deny')
    history.add(call('s', {}, { status: 'denied' }), token)
    expect(policy.judge(call('s'), history).verdict).toBe('allow')
    history.begin(call('s'), token)
    history.add(call('s'), token)
    history.add(call('x'))
    expect(policy.judge(call('s'), history).verdict).toBe('deny')
    expect(history.counters[0]?.total).toBe(1)
  })
})

describe('explanations', () => {
  const policy: Policy = {
    name: 'refunds',
    rules: [
      {
        id: 'high',
        deny: 'refund',
        when: { amount: { over: 100 } },
        because: 'Too much for one refund.',
      },
      { id: 'key', deny: 'send', when: { apiKey: { exists: true } } },
      { id: 'text', deny: 'send', when: { '**': { contains: 'tok' } }, code: 'NO_TOKENS' },
      { id: 'often', deny: 'search', moreThan: 0 },
      { deny: 'divide', when: { a: { over: 5 } } },
    ],
  }
  const denialOf = (judged: PastCall) => judgeCalls([policy], [judged])[0]?.denial

  test('a denial says code, rule, which value where, and what would be allowed', () => {
    expect(denialOf(call('refund', { amount: 250 }))).toEqual({
      code: 'POLICY_DENIED',
      rule: 'refunds/high',
      what: 'Tool "refund" was not started.',
      why: 'Too much for one refund. amount is 250, over 100.',
      allowed: 'Allowed: amount up to 100.',
    })
    expect(denialOf(call('search'))).toMatchObject({
      why: 'It would be more than 0 calls of search.',
      allowed: 'Allowed: at most 0 calls of search.',
    })
    // The first word of a sentence, unless it is a name.
    expect(denialOf(call('divide', { a: 6 }))?.why).toBe('a is 6, over 5.')
  })

  test('values that look secret are never shown', () => {
    const secret = ['s', 'k'].join('') + `-${'a1B2'.repeat(6)}`
    const byName = denialOf(call('send', { apiKey: 'hunter2hunter2' }))
    expect(byName?.why).not.toContain('hunter2')
    vi.stubEnv('SOME_PASSWORD', 'correct horse battery')
    onTestFinished(() => void vi.unstubAllEnvs())
    const known = denialOf(call('refund', { amount: 'correct horse battery' }))
    expect(known?.why).not.toContain('horse')
    const byLook = denialOf(call('send', { note: `use tok ${secret}` }))
    expect(byLook?.code).toBe('NO_TOKENS')
    expect(JSON.stringify(byLook)).not.toContain('a1B2')
  })

  test('a default names the tools, and what it expects of this one', () => {
    const strict: Policy = {
      name: 's',
      default: 'deny',
      rules: [
        { allow: ['search', 'read_*'] },
        { allow: 'refund', when: { amount: { atMost: 100 } } },
        { ask: 'refund', when: { amount: { atMost: 1000 } } },
      ],
    }
    const [shell, refund, ask] = judgeCalls(
      [strict],
      [call('shell'), call('refund', { amount: 5000 }), call('refund', { amount: 500 })],
    )
    expect(shell?.denial).toMatchObject({
      rule: 's/default',
      allowed: 'Allowed: tools search, read_*, refund.',
    })
    expect(shell?.rule).toBeUndefined()
    expect(refund?.denial?.allowed).toBe(
      'Allowed: amount up to 100, or amount up to 1000 with approval.',
    )
    expect(ask).toMatchObject({
      verdict: 'ask',
      denial: { allowed: 'Ask for approval, or amount up to 100.' },
    })
  })
})
