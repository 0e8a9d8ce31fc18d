import { type PriceTable, tokenPrice } from '../specification/price.js'

/**
 * Mistral's price list, from LiteLLM's table of 2026-08-08 and genai-prices of 2026-08-21 (cached
 * input from the latter). Moving names, such as `mistral-large-latest`, are omitted.
 */
export const MISTRAL_PRICES: PriceTable = {
  'mistral-large-2411': { input: 2, output: 6 },
  'mistral-large-2512': tokenPrice(0.5, 0.05, 1.5),
  'mistral-small-2603': tokenPrice(0.15, 0.015, 0.6),
  'ministral-3b-2512': tokenPrice(0.1, 0.01, 0.1),
  'ministral-8b-2512': { input: 0.15, output: 0.15 },
  'ministral-14b-2512': tokenPrice(0.2, 0.02, 0.2),
  'mistral-medium-2505': { input: 0.4, output: 2 },
  'mistral-medium-2508': { input: 0.4, output: 2 },
  'mistral-medium-2604': { input: 1.5, output: 7.5 },
  'magistral-medium-2509': { input: 2, output: 5 },
  'codestral-2508': tokenPrice(0.3, 0.03, 0.9),
  'devstral-2512': tokenPrice(0.4, 0.04, 2),
  'mistral-embed': { input: 0.1, output: 0 },
}
