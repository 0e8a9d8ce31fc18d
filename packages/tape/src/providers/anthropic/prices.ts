import {
  longInput,
  OVER_200K,
  type Price,
  type PriceTable,
  REGIONAL,
} from '../specification/price.js'

const claude = (input: number, output: number, more: Partial<Price> = {}): Price => ({
  input,
  cachedInput: input / 10,
  cacheWrite: input * 1.25,
  cacheWriteLong: input * 2,
  output,
  ...more,
})

/**
 * From Anthropic's documentation (platform.claude.com, pricing and models) of October 2026. Sonnet
 * 5 still has its introductory price, which other tables end in August.
 */
export const ANTHROPIC_PRICES: PriceTable = {
  'claude-3-haiku': claude(0.25, 1.25, { cachedInput: 0.03, cacheWrite: 0.3 }),
  'claude-3-5-haiku': claude(0.8, 4),
  'claude-haiku-4-5': claude(1, 5, REGIONAL),
  'claude-haiku-5-5': claude(0.1, 0.5, { ...longInput(100_000, 5, 5), ...REGIONAL }),
  'claude-3-5-sonnet': claude(3, 15),
  'claude-3-7-sonnet': claude(3, 15),
  'claude-sonnet-4': claude(3, 15, OVER_200K),
  'claude-sonnet-4-5': claude(3, 15, { ...OVER_200K, ...REGIONAL }),
  'claude-sonnet-4-6': claude(3, 15, REGIONAL),
  'claude-sonnet-5': claude(2, 10, REGIONAL),
  'claude-sonnet-5-5': claude(2, 10, REGIONAL),
  'claude-3-opus': claude(15, 75),
  'claude-opus-4': claude(15, 75),
  'claude-opus-4-1': claude(15, 75),
  'claude-opus-4-5': claude(5, 25, REGIONAL),
  'claude-opus-4-6': claude(5, 25, REGIONAL),
  'claude-opus-4-7': claude(5, 25, REGIONAL),
  'claude-opus-4-8': claude(5, 25, REGIONAL),
  'claude-opus-5': claude(5, 25, REGIONAL),
  'claude-opus-5-5': claude(4, 20, { cachedInput: 0.2, ...REGIONAL }),
  'claude-fable-5': claude(10, 50, REGIONAL),
  'claude-fable-5-1': claude(10, 50, { cachedInput: 0.25, ...REGIONAL }),
}
