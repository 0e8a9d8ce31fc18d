import { describe, expect, test } from 'vitest'
import { costUsd, findPrice } from './cost.js'
import { addUsage, NO_USAGE, type Usage } from './specification/usage.js'

const usage = (classes: Partial<Usage>): Usage => ({ ...NO_USAGE, ...classes })

describe('costUsd', () => {
  test('bills each class of tokens at its own price, and cached tokens once', () => {
    const tokens = usage({ input: 176, cachedInput: 1024, output: 300, reasoning: 256 })
    expect(costUsd('gpt-5-mini-2025-08-07', tokens)).toBeCloseTo(
      (176 * 0.25 + 1024 * 0.025 + 300 * 2) / 1e6,
      12,
    )
    const cached = usage({
      input: 12,
      cachedInput: 2000,
      cacheWrite: 300,
      cacheWriteLong: 200,
      output: 40,
    })
    const expected = (12 * 3 + 2000 * 0.3 + 100 * 3.75 + 200 * 6 + 40 * 15) / 1e6
    expect(costUsd('claude-sonnet-4-5-20250929', cached)).toBeCloseTo(expected, 12)
  })

  test('bills reasoning separately if it has its own price', () => {
    const tokens = usage({ input: 10, output: 300, reasoning: 200 })
    const price = { input: 1, output: 2 }
    expect(costUsd('mine', tokens, { mine: price })).toBeCloseTo((10 + 300 * 2) / 1e6, 12)
    const apart = { mine: { ...price, reasoning: 5 } }
    expect(costUsd('mine', tokens, apart)).toBeCloseTo((10 + 100 * 2 + 200 * 5) / 1e6, 12)
  })

  test('is unknown, not zero, for a model that is not in the table', () => {
    expect(costUsd('my-own-model', usage({ output: 1 }))).toBeUndefined()
    expect(costUsd('gpt-5-mini-but-not-really', usage({ output: 1 }))).toBeUndefined()
    expect(costUsd('constructor', usage({ output: 1 }))).toBeUndefined()
  })

  test('is unknown if any part has no price', () => {
    expect(costUsd('gpt-5', usage({ unpriced: ['web_search_call'] }))).toBeUndefined()
    expect(costUsd('gpt-5', usage({ cacheWrite: 1 }))).toBeUndefined()
    expect(costUsd('gpt-4o-2024-05-13', usage({ cachedInput: 1 }))).toBeUndefined()
    expect(costUsd('gpt-5', usage({ input: 1, mismatch: 'odd' }))).toBeUndefined()
  })

  test('bills all of a request with long input at the price for long input', () => {
    const just = usage({ input: 100, cachedInput: 199_900, output: 10 })
    // 100 × $3 + 199,900 × $0.30 + 10 × $15, for a million tokens
    expect(costUsd('claude-sonnet-4-5', just)).toBeCloseTo(0.06042, 12)
    const above = usage({ input: 100, cachedInput: 199_901, output: 10 })
    // 100 × $6 + 199,901 × $0.60 + 10 × $22.50
    expect(costUsd('claude-sonnet-4-5', above)).toBeCloseTo(0.1207656, 12)
    // 300,000 × $2.50 + 1,000 × $15
    const gemini = usage({ input: 300_000, output: 1000 })
    expect(costUsd('gemini-2.5-pro', gemini)).toBeCloseTo(0.765, 12)
    // 100,001 × $0.50 + 10 × $2.50
    const haiku = usage({ input: 100_001, output: 10 })
    expect(costUsd('claude-haiku-5-5', haiku)).toBeCloseTo(0.0500255, 12)
    // On Bedrock, both factors apply: 300,000 × $6.60 + 10 × $24.75
    const regional = usage({ input: 300_000, output: 10 })
    expect(costUsd('us.anthropic.claude-sonnet-4-5-20250929-v1:0', regional)).toBeCloseTo(
      1.9802475,
      12,
    )
  })

  test('takes prices of the user before its own', () => {
    const overrides = { 'my-own-model': { input: 1, output: 2 }, 'gpt-5': { input: 0, output: 0 } }
    expect(costUsd('my-own-model', usage({ input: 1e6, output: 1e6 }), overrides)).toBe(3)
    expect(costUsd('gpt-5', usage({ input: 1e6 }), overrides)).toBe(0)
  })

  test('prices a dated snapshot like its model unless the table names it', () => {
    expect(findPrice('gpt-4o-2024-11-20')?.input).toBe(2.5)
    expect(findPrice('gpt-4o-2024-05-13')?.input).toBe(5)
    expect(findPrice('claude-opus-4-1-20250805')?.output).toBe(75)
    expect(findPrice('claude-opus-4-5-20251101')?.output).toBe(25)
  })
})

test('usage adds up class by class and keeps every flag', () => {
  const sum = addUsage(
    usage({ input: 1, mismatch: 'odd', unpriced: ['a'] }),
    usage({ input: 2, reasoning: 3, unpriced: ['a', 'b'] }),
  )
  expect(sum).toEqual(usage({ input: 3, reasoning: 3, mismatch: 'odd', unpriced: ['a', 'b'] }))
})
