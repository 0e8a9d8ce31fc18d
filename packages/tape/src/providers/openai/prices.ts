import { longInput, type Price, type PriceTable, tokenPrice } from '../specification/price.js'

const OVER_272K = longInput(272_000, 2, 1.5)

/** OpenAI charges for writing to the cache since GPT-5.6. */
const withWrites = (input: number, cachedInput: number, output: number): Price =>
  tokenPrice(input, cachedInput, output, { cacheWrite: input * 1.25, ...OVER_272K })

/**
 * OpenAI's price list, from LiteLLM's table of 2026-08-08 and genai-prices of 2026-08-21; GPT-6,
 * and GPT-5.6 Sol after its price cut, as of September 2026. Azure's global deployments cost the
 * same.
 */
export const OPENAI_PRICES: PriceTable = {
  'gpt-3.5-turbo': { input: 0.5, output: 1.5 },
  'gpt-3.5-turbo-0125': { input: 0.5, output: 1.5 },
  'gpt-3.5-turbo-instruct': { input: 1.5, output: 2 },
  'gpt-4': { input: 30, output: 60 },
  'gpt-4-0613': { input: 30, output: 60 },
  'gpt-4-turbo': { input: 10, output: 30 },
  'gpt-4o': tokenPrice(2.5, 1.25, 10),
  'gpt-4o-2024-05-13': { input: 5, output: 15 },
  'gpt-4o-mini': tokenPrice(0.15, 0.075, 0.6),
  'gpt-4.1': tokenPrice(2, 0.5, 8),
  'gpt-4.1-mini': tokenPrice(0.4, 0.1, 1.6),
  'gpt-4.1-nano': tokenPrice(0.1, 0.025, 0.4),
  'gpt-5': tokenPrice(1.25, 0.125, 10),
  'gpt-5-chat': tokenPrice(1.25, 0.125, 10),
  'gpt-5-codex': tokenPrice(1.25, 0.125, 10),
  'gpt-5-mini': tokenPrice(0.25, 0.025, 2),
  'gpt-5-nano': tokenPrice(0.05, 0.005, 0.4),
  'gpt-5-pro': { input: 15, output: 120 },
  'gpt-5.1': tokenPrice(1.25, 0.125, 10),
  'gpt-5.1-codex': tokenPrice(1.25, 0.125, 10),
  'gpt-5.1-chat': tokenPrice(1.25, 0.125, 10),
  'gpt-5.1-codex-max': tokenPrice(1.25, 0.125, 10),
  'gpt-5.1-codex-mini': tokenPrice(0.25, 0.025, 2),
  'gpt-5.2': tokenPrice(1.75, 0.175, 14),
  'gpt-5.2-chat': tokenPrice(1.75, 0.175, 14),
  'gpt-5.2-codex': tokenPrice(1.75, 0.175, 14),
  'gpt-5.2-pro': { input: 21, output: 168 },
  'gpt-5.3-chat': tokenPrice(1.75, 0.175, 14),
  'gpt-5.3-codex': tokenPrice(1.75, 0.175, 14),
  'gpt-5.4': tokenPrice(2.5, 0.25, 15, OVER_272K),
  'gpt-5.4-mini': tokenPrice(0.75, 0.075, 4.5),
  'gpt-5.4-nano': tokenPrice(0.2, 0.02, 1.25),
  'gpt-5.4-pro': { input: 30, output: 180, ...OVER_272K },
  'gpt-5.5': tokenPrice(5, 0.5, 30, OVER_272K),
  'gpt-5.5-pro': { input: 30, output: 180, ...OVER_272K },
  'gpt-5.6-luna': withWrites(0.2, 0.02, 1.2),
  'gpt-5.6-terra': withWrites(2, 0.2, 12),
  'gpt-5.6-sol': { input: 4, output: 20, ...OVER_272K },
  'gpt-6-luna': withWrites(0.1, 0.01, 0.5),
  'gpt-6-sol': withWrites(2, 0.2, 10),
  o1: tokenPrice(15, 7.5, 60),
  'o1-pro': { input: 150, output: 600 },
  o3: tokenPrice(2, 0.5, 8),
  'o3-mini': tokenPrice(1.1, 0.55, 4.4),
  'o3-pro': { input: 20, output: 80 },
  'o3-deep-research': tokenPrice(10, 2.5, 40),
  'o4-mini': tokenPrice(1.1, 0.275, 4.4),
  'o4-mini-deep-research': tokenPrice(2, 0.5, 8),
  'text-embedding-3-small': { input: 0.02, output: 0 },
  'text-embedding-3-large': { input: 0.13, output: 0 },
  'text-embedding-ada-002': { input: 0.1, output: 0 },
}
