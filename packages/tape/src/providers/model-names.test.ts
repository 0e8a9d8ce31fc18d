import { describe, expect, test } from 'vitest'
import { findPrice, PRICES, PRICES_AS_OF } from './cost.js'

describe('the price of an id', () => {
  test.each([
    ['openai/gpt-4o-mini', 'gpt-4o-mini'],
    ['openrouter/openai/gpt-4o-mini-2024-07-18', 'gpt-4o-mini'],
    ['azure/gpt-4o', 'gpt-4o'],
    ['models/gemini-2.5-flash', 'gemini-2.5-flash'],
    ['google/gemini-2.5-pro', 'gemini-2.5-pro'],
    ['gemini-2.0-flash-001', 'gemini-2.0-flash'],
    ['projects/p/locations/l/publishers/google/models/gemini-2.5-pro', 'gemini-2.5-pro'],
    ['publishers/google/models/gemini-2.5-pro', 'gemini-2.5-pro'],
    ['anthropic/claude-sonnet-4.5', 'claude-sonnet-4-5'],
    ['claude-sonnet-4-5@20250929', 'claude-sonnet-4-5'],
    ['claude-opus-5-5', 'claude-opus-5-5'],
    ['anthropic.claude-3-7-sonnet-20250219-v1:0', 'claude-3-7-sonnet'],
    ['eu.anthropic.claude-3-7-sonnet-20250219-v1:0', 'claude-3-7-sonnet'],
    ['global.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5'],
    ['global.anthropic.claude-opus-4-6-v1', 'claude-opus-4-6'],
    ['bedrock/amazon.nova-pro-v1:0', 'amazon.nova-pro'],
    ['us.meta.llama3-3-70b-instruct-v1:0', 'meta.llama3-3-70b-instruct'],
    ['amazon.titan-embed-text-v2:0', 'amazon.titan-embed-text-v2:0'],
    ['arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0', 'amazon.nova-lite'],
  ])('%s is that of %s', (id, listed) => {
    expect(findPrice(id)).toBe(PRICES[listed])
    expect(findPrice(id)).toBeDefined()
  })

  test.each([
    'anthropic/claude-sonnet-4.5:online',
    'openai/gpt-oss-120b',
    'llama-3.3-70b-versatile',
    'mistral-large-latest',
    'deepseek-chat',
    'us-gov.anthropic.claude-3-7-sonnet-20250219-v1:0',
    'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123',
    'ft:gpt-4o-mini-2024-07-18:shop::abc',
    'gpt-5-mini-0001',
    'models/constructor',
    '',
  ])('%s is not known', (id) => {
    expect(findPrice(id)).toBeUndefined()
  })

  test('is a tenth higher if a newer Claude must run in one geography', () => {
    const regional = findPrice('us.anthropic.claude-sonnet-4-5-20250929-v1:0')
    expect(regional?.input).toBeCloseTo(3.3, 10)
    expect(regional?.cachedInput).toBeCloseTo(0.33, 10)
    expect(regional?.cacheWriteLong).toBeCloseTo(6.6, 10)
    expect(regional?.output).toBeCloseTo(16.5, 10)
    expect(findPrice('anthropic.claude-sonnet-4-5-20250929-v1:0')).toBeUndefined()
  })

  test('of an open model is that of its host', () => {
    expect(findPrice('openai/gpt-oss-120b', {}, 'groq')?.output).toBe(0.6)
    expect(findPrice('openai/gpt-oss-120b', {}, 'together')).toBeUndefined()
  })

  test('is taken from the user under any of its names', () => {
    const price = { input: 7, output: 8 }
    const id = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
    for (const name of [id, 'claude-sonnet-4-5', `bedrock/${id}`, 'bedrock/claude-sonnet-4-5'])
      expect(findPrice(id, { [name]: price }, 'bedrock')).toBe(price)
    expect(findPrice('gpt-5', { 'azure/gpt-5': price }, 'openai')).toBe(PRICES['gpt-5'])
  })
})

test('every price is a number that makes sense', () => {
  expect(PRICES_AS_OF).toMatch(/^\d{4}-\d{2}$/)
  for (const [name, price] of Object.entries(PRICES)) {
    const { input, cachedInput = 0, cacheWrite = input, cacheWriteLong = cacheWrite } = price
    expect(input, name).toBeGreaterThan(0)
    expect(cachedInput, name).toBeLessThan(input)
    expect(cacheWrite, name).toBeGreaterThanOrEqual(input)
    expect(cacheWriteLong, name).toBeGreaterThanOrEqual(cacheWrite)
    expect(price.output === 0 || price.output >= input, name).toBe(true)
  }
})
