import { filledText, type JsonRecord } from '../values/json-shape.js'

/** List prices in US dollars for a million tokens of each class. */
export interface Price {
  readonly input: number
  readonly cachedInput?: number
  readonly cacheWrite?: number
  /** Writing to the one-hour cache. */
  readonly cacheWriteLong?: number
  readonly output: number
  /** Reasoning, where it does not cost what other output costs. */
  readonly reasoning?: number
  /** Prices hold up to this much input; above it the cost is unknown. */
  readonly inputTokensMax?: number
  /** Price of a request with more input than this, all of it. */
  readonly longInput?: LongInput
  /** How much more it costs on Bedrock when it must run in one part of the world. */
  readonly regionalFactor?: number
}

/** With more input than `above`, cached or not, each price is multiplied. */
interface LongInput {
  readonly above: number
  /** For input, cached input and cache writes. */
  readonly inputFactor: number
  readonly outputFactor: number
}

/** By model; `groq/llama-3.3-70b-versatile` holds only where Groq answers. */
export type PriceTable = Readonly<Record<string, Price>>

/** Prices for a million tokens of input, cached input and output. */
export const tokenPrice = (
  input: number,
  cachedInput: number,
  output: number,
  more: Partial<Price> = {},
): Price => ({ input, cachedInput, output, ...more })

/** Above this much input, all prices are multiplied. */
export const longInput = (
  above: number,
  inputFactor: number,
  outputFactor: number,
): { longInput: LongInput } => ({
  longInput: { above, inputFactor, outputFactor },
})

export const OVER_200K = longInput(200_000, 2, 1.5)

/** On Bedrock, running in one part of the world costs a tenth more than anywhere. */
export const REGIONAL = { regionalFactor: 1.1 }

/** The tiers that list prices are for, in the words of all providers. */
const STANDARD = new Set(['auto', 'default', 'standard', 'standard_only', 'on_demand'])

/** Other service tiers have other prices. */
export const unpricedTier = (answer: JsonRecord): string[] => {
  const tier = filledText(answer['service_tier'])
  return tier === undefined || STANDARD.has(tier.toLowerCase()) ? [] : [`service tier ${tier}`]
}

/**
 * Tokens of one exchange by the class they are billed in. `input`,
 * `cachedInput` and `cacheWrite` do not overlap; `reasoning` is part of
 * `output` and shown apart.
 */
export interface Usage {
  readonly input: number
  readonly cachedInput: number
  readonly cacheWrite: number
  /** The part of `cacheWrite` that is kept for an hour and costs more. */
  readonly cacheWriteLong: number
  readonly output: number
  readonly reasoning: number
  /** Anything else that is billed and has no token price here: searches, audio, a service tier. */
  readonly unpriced: readonly string[]
  /** Set when the provider's own numbers do not add up; they are shown as given. */
  readonly mismatch?: string
}

export const NO_USAGE: Usage = {
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  cacheWriteLong: 0,
  output: 0,
  reasoning: 0,
  unpriced: [],
}

/** The sum over exchanges; mismatches are kept, each once. */
export const addUsage = (left: Usage, right: Usage): Usage => {
  const unpriced = [...new Set([...left.unpriced, ...right.unpriced])]
  const mismatches = new Set([left.mismatch, right.mismatch].filter((text) => text !== undefined))
  return {
    input: left.input + right.input,
    cachedInput: left.cachedInput + right.cachedInput,
    cacheWrite: left.cacheWrite + right.cacheWrite,
    cacheWriteLong: left.cacheWriteLong + right.cacheWriteLong,
    output: left.output + right.output,
    reasoning: left.reasoning + right.reasoning,
    unpriced,
    ...(mismatches.size > 0 && { mismatch: [...mismatches].join('; ') }),
  }
}

interface CountedInsideInput {
  /** All input tokens, cached ones included. */
  readonly allInput: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
  /** The provider's own sum. */
  readonly total: number | undefined
  readonly unpriced: readonly string[]
}

/** Usage from a provider whose input count contains the cached tokens. */
export const usageFromTotals = (given: CountedInsideInput): Usage => {
  const { allInput, cachedInput, cacheWrite, output, reasoning, total, unpriced } = given
  const problems: string[] = []
  if (cachedInput + cacheWrite > allInput) {
    problems.push(`${cachedInput + cacheWrite} cached of ${allInput} input tokens`)
  }
  if (reasoning > output) problems.push(`${reasoning} reasoning of ${output} output tokens`)
  if (total !== undefined && total !== allInput + output) {
    problems.push(`a total of ${total} where input and output make ${allInput + output}`)
  }
  return {
    input: Math.max(0, allInput - cachedInput - cacheWrite),
    cachedInput,
    cacheWrite,
    cacheWriteLong: 0,
    output,
    reasoning,
    unpriced,
    ...(problems.length > 0 && { mismatch: problems.join('; ') }),
  }
}
