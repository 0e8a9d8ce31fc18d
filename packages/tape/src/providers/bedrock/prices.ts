import { type PriceTable, REGIONAL, tokenPrice } from '../specification/price.js'

/**
 * Models on Bedrock other than Claude, from LiteLLM's table of 2026-08-08 and genai-prices of
 * 2026-08-21 (cached input of Nova from the latter).
 */
export const BEDROCK_PRICES: PriceTable = {
  'amazon.nova-micro': tokenPrice(0.035, 0.00875, 0.14),
  'amazon.nova-lite': tokenPrice(0.06, 0.015, 0.24),
  'amazon.nova-pro': tokenPrice(0.8, 0.2, 3.2),
  'amazon.nova-premier': tokenPrice(2.5, 0.625, 12.5),
  'amazon.nova-2-lite': tokenPrice(0.3, 0.075, 2.5, REGIONAL),
  'amazon.titan-embed-text-v2:0': { input: 0.02, output: 0 },
  'meta.llama3-1-8b-instruct': { input: 0.22, output: 0.22 },
  'meta.llama3-3-70b-instruct': { input: 0.72, output: 0.72 },
  'meta.llama4-maverick-17b-instruct': { input: 0.24, output: 0.97 },
  'meta.llama4-scout-17b-instruct': { input: 0.17, output: 0.66 },
  'mistral.mistral-large-2407': { input: 3, output: 9 },
  'mistral.mistral-large-3-675b-instruct': { input: 0.5, output: 1.5 },
  'openai.gpt-oss-120b-1': { input: 0.15, output: 0.6 },
  'openai.gpt-oss-20b-1': { input: 0.07, output: 0.3 },
  'qwen.qwen3-32b': { input: 0.15, output: 0.6 },
  'deepseek.r1': { input: 1.35, output: 5.4 },
  'cohere.command-r': { input: 0.5, output: 1.5 },
  'cohere.command-r-plus': { input: 3, output: 15 },
}
