import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CallHistory } from './call-history.js'
import { CompiledPolicy } from './compiled-policy.js'
import type { Rule } from './policy.js'

const made = (tool: string) => ({ tool, args: {}, effects: undefined })
const ended = (tool: string, started: boolean) => ({
  ...made(tool),
  status: started ? ('done' as const) : ('denied' as const),
  output: undefined,
  started,
})

test('a call that was refused while others ran gives its number to no second one', () => {
  const policy = new CompiledPolicy([{ name: 'p', rules: [{ deny: 'pay', moreThan: 2 }] }])
  const history = new CallHistory(policy)
  const asked = {}
  history.begin(made('asked'), asked)
  history.begin(made('pay'), {})
  history.add(ended('asked', false), asked)
  history.begin(made('pay'), {})
  expect(policy.judge(made('pay'), history).verdict).toBe('deny')
})

/** Events in order: a call begins, or one in progress ends, made or not. */
const happening = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'b').map((begins) => ({ begins })) },
  { weight: 2, arbitrary: fc.record({ ends: fc.nat(5), started: fc.boolean() }) },
)

test('however calls overlap, rules see those that were made or are under way, in their order', () => {
  fc.assert(
    fc.property(
      fc.array(happening, { maxLength: 30, size: 'max' }),
      fc.integer({ min: 0, max: 3 }),
      fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
      (happenings, moreThan, within) => {
        const rule: Rule = { deny: 'a', moreThan, ...(within !== undefined && { within }) }
        const policy = new CompiledPolicy([{ name: 'p', rules: [rule] }])
        const history = new CallHistory(policy)
        const calls: { tool: string; isUnderWay: boolean }[] = []
        for (const each of happenings) {
          if ('begins' in each) {
            const call = { tool: each.begins, isUnderWay: true }
            calls.push(call)
            history.begin(made(call.tool), call)
          } else {
            const underWay = calls.filter(({ isUnderWay }) => isUnderWay)
            const call = underWay[each.ends % Math.max(1, underWay.length)]
            if (call === undefined) continue
            call.isUnderWay = false
            if (!each.started) calls.splice(calls.indexOf(call), 1)
            history.add(ended(call.tool, each.started), call)
          }
          const seen = within === undefined ? calls : calls.slice(-within)
          const isDenied = seen.filter(({ tool }) => tool === 'a').length >= moreThan
          expect(policy.judge(made('a'), history).verdict).toBe(isDenied ? 'deny' : 'allow')
        }
      },
    ),
  )
})
