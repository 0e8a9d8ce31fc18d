import { longInput, type PriceTable, tokenPrice } from '../specification/price.js'

/** xAI's price list, from LiteLLM's table of 2026-08-08 and genai-prices of 2026-08-21. */
export const XAI_PRICES: PriceTable = {
  'grok-3': tokenPrice(3, 0.75, 15),
  'grok-3-mini': tokenPrice(0.3, 0.075, 0.5),
  'grok-4-fast-reasoning': tokenPrice(0.2, 0.05, 0.5, longInput(128_000, 2, 2)),
  'grok-4-fast-non-reasoning': tokenPrice(0.2, 0.05, 0.5, longInput(128_000, 2, 2)),
  'grok-4-1-fast-reasoning': tokenPrice(0.2, 0.05, 0.5, longInput(128_000, 2, 2)),
  'grok-4-1-fast-non-reasoning': tokenPrice(0.2, 0.05, 0.5, longInput(128_000, 2, 2)),
  'grok-4.3': tokenPrice(1.25, 0.2, 2.5, longInput(200_000, 2, 2)),
  'grok-4.5': tokenPrice(2, 0.5, 6, longInput(200_000, 2, 2)),
  'grok-code-fast-1': tokenPrice(0.2, 0.02, 1.5),
}
