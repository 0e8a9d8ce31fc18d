import { type PriceTable, tokenPrice } from '../specification/price.js'

/**
 * The price of an open model depends on its host, so these names include the host. From LiteLLM's
 * table of 2026-08-08 and genai-prices of 2026-08-21.
 */
export const GROQ_PRICES: PriceTable = {
  'groq/llama-3.1-8b-instant': { input: 0.05, output: 0.08 },
  'groq/llama-3.3-70b-versatile': { input: 0.59, output: 0.79 },
  'groq/openai/gpt-oss-120b': tokenPrice(0.15, 0.075, 0.6),
  'groq/openai/gpt-oss-20b': tokenPrice(0.075, 0.0375, 0.3),
  'groq/meta-llama/llama-4-maverick-17b-128e-instruct': { input: 0.2, output: 0.6 },
  'groq/moonshotai/kimi-k2-instruct-0905': tokenPrice(1, 0.5, 3),
  'groq/qwen/qwen3-32b': { input: 0.29, output: 0.59 },
  'groq/meta-llama/llama-4-scout-17b-16e-instruct': { input: 0.11, output: 0.34 },
}
