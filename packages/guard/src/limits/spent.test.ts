import { describe, expect, it } from 'vitest'
import { countedFor } from './amount.js'

describe('the cost of a call according to its tape', () => {
  const intent = {
    guard: 'g',
    call: 1,
    fingerprint: 'a',
    occurrence: 1,
    policy: 'p',
    verdict: 'allow',
    reserved: { outputTokens: 8 },
  } as const
  const served = { run: 'r', seq: 1 }

  it.each([
    ['all that was reserved without a result', undefined, 8],
    ['what it says', { status: 'done', usage: { inputTokens: 3 } }, 3],
    ['what was reserved where it says nothing', { status: 'failed' }, 8],
    ['nothing when it was not started', { status: 'stopped', attempts: 0 }, 0],
    ['nothing when it was served', { status: 'done', served, usage: { inputTokens: 3 } }, 0],
    ['what is put down', { status: 'done', attempts: 2, counted: { outputTokens: 11 } }, 11],
    ['nothing when that is put down', { status: 'done', attempts: 2, counted: {} }, 0],
    [
      'all it may have used in several attempts, on an old tape',
      { status: 'done', attempts: 2, usage: { inputTokens: 3 } },
      16,
    ],
    [
      'at least what was reserved when it was given up, on an old tape',
      { status: 'stopped', exitReason: 'timeout', usage: { inputTokens: 3 } },
      8,
    ],
  ] as const)('%s', (_, facts, tokens) => {
    expect(countedFor(intent, facts).tokens).toBe(tokens)
  })
})
