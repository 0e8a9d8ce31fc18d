import type { Usage } from './providers/usage.js'

/** List prices in US dollars for a million tokens of each class. */
export interface Price {
  readonly input: number
  readonly cachedInput?: number
  readonly cacheWrite?: number
  /** Writing to the one-hour cache. */
  readonly cacheWriteLong?: number
  readonly output: number
  /** Prices hold up to this much input; above it the cost is unknown. */
  readonly inputTokensMax?: number
}

export type PriceTable = Readonly<Record<string, Price>>

/** How old the table below is. Providers change prices without notice: override what must be right. */
export const PRICES_AS_OF = '2026-02'

const openai = (input: number, cachedInput: number, output: number): Price => ({
  input,
  cachedInput,
  output,
})

const claude = (input: number, output: number, inputTokensMax?: number): Price => ({
  input,
  cachedInput: input / 10,
  cacheWrite: input * 1.25,
  cacheWriteLong: input * 2,
  output,
  ...(inputTokensMax !== undefined && { inputTokensMax }),
})

/**
 * Public list prices of well-known models, not what any one customer pays. A
 * model that is not here has an unknown cost; prices from the user's
 * configuration come first.
 */
export const PRICES: PriceTable = {
  'gpt-4o': openai(2.5, 1.25, 10),
  'gpt-4o-2024-05-13': { input: 5, output: 15 },
  'gpt-4o-mini': openai(0.15, 0.075, 0.6),
  'gpt-4.1': openai(2, 0.5, 8),
  'gpt-4.1-mini': openai(0.4, 0.1, 1.6),
  'gpt-4.1-nano': openai(0.1, 0.025, 0.4),
  'gpt-5': openai(1.25, 0.125, 10),
  'gpt-5-mini': openai(0.25, 0.025, 2),
  'gpt-5-nano': openai(0.05, 0.005, 0.4),
  'gpt-5.1': openai(1.25, 0.125, 10),
  'gpt-5.2': openai(1.75, 0.175, 14),
  o3: openai(2, 0.5, 8),
  'o4-mini': openai(1.1, 0.275, 4.4),
  'claude-3-5-haiku': claude(0.8, 4),
  'claude-haiku-4-5': claude(1, 5),
  'claude-3-7-sonnet': claude(3, 15),
  'claude-sonnet-4': claude(3, 15, 200_000),
  'claude-sonnet-4-5': claude(3, 15, 200_000),
  'claude-sonnet-4-6': claude(3, 15, 200_000),
  'claude-opus-4': claude(15, 75),
  'claude-opus-4-1': claude(15, 75),
  'claude-opus-4-5': claude(5, 25),
  'claude-opus-4-6': claude(5, 25, 200_000),
}

/** `-2025-08-07`, `-20250929` or `-latest`: the same model at the same price, unless the table says otherwise. */
const SNAPSHOT = /-(\d{4}-\d{2}-\d{2}|\d{8}|latest|0)$/

/** The price of a model, `undefined` when it is not known. */
export const findPrice = (model: string, overrides: PriceTable = {}): Price | undefined => {
  for (const name of [model, model.replace(SNAPSHOT, '')]) {
    if (Object.hasOwn(overrides, name)) return overrides[name]
    if (Object.hasOwn(PRICES, name)) return PRICES[name]
  }
  return undefined
}

/** What an exchange costs, or `undefined` when any part of it has no known price. Never a guess. */
export const costUsd = (
  model: string,
  usage: Usage,
  overrides?: PriceTable,
): number | undefined => {
  const price = findPrice(model, overrides)
  if (price === undefined || usage.unpriced.length > 0) return undefined
  const { input, cachedInput, cacheWrite, cacheWriteLong, output } = usage
  if (input + cachedInput + cacheWrite > (price.inputTokensMax ?? Infinity)) return undefined
  const classes: readonly (readonly [tokens: number, price: number | undefined])[] = [
    [input, price.input],
    [cachedInput, price.cachedInput],
    [cacheWrite - cacheWriteLong, price.cacheWrite],
    [cacheWriteLong, price.cacheWriteLong],
    [output, price.output],
  ]
  let total = 0
  for (const [tokens, each] of classes) {
    if (tokens === 0) continue
    if (each === undefined) return undefined
    total += tokens * each
  }
  return total / 1_000_000
}
