import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FixCandidate } from './candidates.js'
import { changesOf, combineFixes, continueFix, isFurther, progressOf } from './combine-fixes.js'
import type { RunBehaviour } from './losses.js'

const BEFORE = `const order = await load()
console.log(order.totalPrice.toFixed(2))
console.log('until ' + order.validUntil)
`

const change = (after: string, more: Partial<FixCandidate> = {}): FixCandidate => ({
  id: after,
  operator: 'field-alias',
  layer: 'transport',
  title: 'Read something',
  why: 'It has another name.',
  steps: ['1'],
  edits: [{ path: 'agent.mjs', before: BEFORE, after }],
  author: 'rule',
  ...more,
})

const total = change(
  BEFORE.replace('order.totalPrice', '(order.totalPrice ?? order.total_price)'),
  { title: 'Read the total' },
)
const until = change(
  BEFORE.replace('order.validUntil', '(order.validUntil ?? order.valid_until)'),
  { title: 'Read the date', layer: 'code', operator: 'other', steps: ['2'] },
)

describe('two changes are one', () => {
  test('if they touch different text of a file; the higher layer counts', () => {
    const both = combineFixes(total, until)
    expect(both).toMatchObject({
      operator: 'field-alias+other',
      layer: 'code',
      title: 'Read the total, and read the date',
      why: 'It has another name.',
      steps: ['1', '2'],
    })
    expect(both?.edits).toEqual([
      {
        path: 'agent.mjs',
        before: BEFORE,
        after: BEFORE.replace(
          'order.totalPrice',
          '(order.totalPrice ?? order.total_price)',
        ).replace('order.validUntil', '(order.validUntil ?? order.valid_until)'),
      },
    ])
    expect(combineFixes(until, total)?.id).toBe(both?.id)
  })

  test('on the same line, too', () => {
    const before = 'print(`${a.b} ${a.c}`)\n'
    const edit = (after: string): FixCandidate =>
      change(after, { edits: [{ path: 'a.mjs', before, after }] })
    const both = combineFixes(
      edit('print(`${x(a.b)} ${a.c}`)\n'),
      edit('print(`${a.b} ${x(a.c)}`)\n'),
    )
    expect(both?.edits[0]?.after).toBe('print(`${x(a.b)} ${x(a.c)}`)\n')
  })

  test('with one copy of a helper function that both append', () => {
    const helper = '\nfunction num(text) {\n  return Number(text)\n}\n'
    const first = change(`${BEFORE.replace('order.totalPrice', 'num(order.totalPrice)')}${helper}`)
    const second = change(`${BEFORE.replace('order.validUntil', 'num(order.validUntil)')}${helper}`)
    const after = combineFixes(first, second)?.edits[0]?.after
    expect(after?.split('function num').length).toBe(2)
    expect(after).toContain("'until ' + num(order.validUntil)")
  })

  test('in different files', () => {
    const other = change('', { edits: [{ path: 'b.mjs', before: 'a\n', after: 'b\n' }] })
    expect(combineFixes(total, other)?.edits.map(({ path }) => path)).toEqual([
      'agent.mjs',
      'b.mjs',
    ])
  })

  test('but not if they touch the same text, or start from another text', () => {
    const [sum, amount] = ['sum', 'amount'].map((name) =>
      change(BEFORE.replace('totalPrice', name)),
    )
    expect(combineFixes(sum!, amount!)).toBeUndefined()
    const stale = change('', { edits: [{ path: 'agent.mjs', before: 'x\n', after: 'y\n' }] })
    expect(combineFixes(total, stale)).toBeUndefined()
    expect(combineFixes(total, total)).toBeUndefined()
  })

  test('if one is a change to the code that the other leaves', () => {
    const [edit] = total.edits
    const after = edit!.after.replace('.toFixed(2)', '')
    const next = change('', { edits: [{ path: 'agent.mjs', before: edit!.after, after }] })
    expect(continueFix(total, next).edits).toEqual([{ path: 'agent.mjs', before: BEFORE, after }])
  })
})

test('changes turn one text into the other, whatever they are', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b ', 'c(', ')', '\n', '\n\n', 'd.e'))
    .map((all) => all.join(''))
  fc.assert(
    fc.property(text, text, (before, after) => {
      let result = ''
      let at = 0
      for (const { start, end, text: inserted } of changesOf(before, after)) {
        expect(start).toBeGreaterThanOrEqual(at)
        result += before.slice(at, start) + inserted
        at = end
      }
      expect(result + before.slice(at)).toBe(after)
    }),
  )
})

describe('a run comes further', () => {
  const ran = (stdout: string, more: Partial<RunBehaviour> = {}): RunBehaviour => ({
    stdout,
    end: 'exit code 0',
    isThrown: false,
    actions: [],
    ...more,
  })
  const thrown = (stdout = ''): RunBehaviour =>
    ran(stdout, { end: 'TypeError: no', isThrown: true })
  const action = { label: '1', kind: 'tool a', title: 'a', sent: '{}' }

  test('if it makes more steps, prints more, or no longer throws', () => {
    const before = progressOf(thrown())
    expect(isFurther(progressOf(ran('', { actions: [action] })), before, [])).toBe(true)
    expect(isFurther(progressOf(thrown('a line')), before, [])).toBe(true)
    expect(isFurther(progressOf(ran('')), before, [])).toBe(true)
    expect(isFurther(before, before, [])).toBe(false)
    expect(isFurther(before, progressOf(ran('', { actions: [action] })), [])).toBe(false)
  })

  test('if it prints fewer empty values, but not if it prints less', () => {
    const before = progressOf(ran('until undefined\nfor NaN'))
    expect(isFurther(progressOf(ran('until Friday\nfor NaN')), before, [])).toBe(true)
    expect(isFurther(progressOf(ran('until undefined')), before, [])).toBe(false)
    expect(isFurther(progressOf(ran('until undefined\nfor undefined')), before, [])).toBe(false)
  })

  test('if the same error is thrown later in the code, wherever the change moved that', () => {
    const { edits } = total
    const at = (line: number, column: number) =>
      progressOf(thrown(), `/copy/agent.mjs:${line}:${column}`)
    const before = at(2, 13)
    expect(isFurther(at(3, 13), before, edits)).toBe(true)
    expect(isFurther(at(2, 13), before, edits)).toBe(false)
    const moved = [{ path: 'agent.mjs', before: BEFORE, after: `// A comment\n${BEFORE}` }]
    expect(isFurther(at(3, 13), before, moved)).toBe(false)
    expect(isFurther(at(4, 13), before, moved)).toBe(true)
  })
})
