import { NO_USAGE, type RunTotals, type Step } from '@retake/tape'
import { expect, test } from 'vitest'
import { tokensOf } from '../verbs/show.js'

const usage = { ...NO_USAGE, input: 10, output: 2 }
const answered = { kind: 'model', state: 'done', usage } as Step
const uncounted = { kind: 'model', state: 'done', usage: undefined } as Step
const refused = { kind: 'model', state: 'failed', usage: undefined } as Step
const said = (steps: Step[], sum = usage) =>
  tokensOf({ steps, totals: { usage: sum } as unknown as RunTotals })

test('tokens that no answer reports are unknown, not 0', () => {
  expect(said([uncounted, uncounted], NO_USAGE)).toBe('tokens unknown')
})

test('a sum over some of the calls says so; a refused call has none', () => {
  expect(said([answered, uncounted])).toBe('10 tokens in, 2 out in 1 of 2 calls')
  expect(said([answered, refused])).toBe('10 tokens in, 2 out')
})
