import { filledText, type JsonRecord } from '../../format/values/json-shape.js'

/** List prices in US dollars per million tokens of each class. */
export interface Price {
  readonly input: number
  /** Input that the provider had in its cache. If missing, its cost is unknown, as for the next two. */
  readonly cachedInput?: number
  readonly cacheWrite?: number
  /** Input written to a cache that lasts an hour. */
  readonly cacheWriteLong?: number
  readonly output: number
  /** Reasoning, if its price differs from other output. */
  readonly reasoning?: number
  /** Price of a whole request with more input than this. */
  readonly longInput?: LongInput
  /** Factor on Bedrock if the model must run in one geography. */
  readonly regionalFactor?: number
}

/** With more input than `above`, including cached input, all prices are multiplied. */
interface LongInput {
  readonly above: number
  /** For input, cached input and cache writes. */
  readonly inputFactor: number
  readonly outputFactor: number
}

/** By model; a name such as `groq/llama-3.3-70b-versatile` only applies if Groq answers. */
export type PriceTable = Readonly<Record<string, Price>>

/** Prices for a million tokens of input, cached input and output. */
export const tokenPrice = (
  input: number,
  cachedInput: number,
  output: number,
  more: Partial<Price> = {},
): Price => ({ input, cachedInput, output, ...more })

export const longInput = (
  above: number,
  inputFactor: number,
  outputFactor: number,
): { longInput: LongInput } => ({
  longInput: { above, inputFactor, outputFactor },
})

export const OVER_200K = longInput(200_000, 2, 1.5)

/** On Bedrock, running in one geography costs a tenth more. */
export const REGIONAL = { regionalFactor: 1.1 }

/** Names of the service tiers that list prices are for. */
const STANDARD = new Set(['auto', 'default', 'standard', 'standard_only', 'on_demand'])

/** Other service tiers have different prices. */
export const unpricedTier = (answer: JsonRecord): string[] => {
  const tier = filledText(answer['service_tier'])
  return tier === undefined || STANDARD.has(tier.toLowerCase()) ? [] : [`service tier ${tier}`]
}
