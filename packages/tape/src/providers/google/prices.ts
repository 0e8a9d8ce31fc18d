import { OVER_200K, type PriceTable, tokenPrice } from '../specification/price.js'

/**
 * Google's price list for text, images and video, from LiteLLM's table of 2026-08-08 and
 * genai-prices of 2026-08-21. Prices with an announced end are omitted.
 */
export const GOOGLE_PRICES: PriceTable = {
  'gemini-2.0-flash': tokenPrice(0.1, 0.025, 0.4),
  'gemini-2.0-flash-lite': { input: 0.075, output: 0.3 },
  'gemini-2.5-pro': tokenPrice(1.25, 0.125, 10, OVER_200K),
  'gemini-2.5-flash': tokenPrice(0.3, 0.03, 2.5),
  'gemini-2.5-flash-lite': tokenPrice(0.1, 0.01, 0.4),
  'gemini-3-pro-preview': tokenPrice(2, 0.2, 12, OVER_200K),
  'gemini-3-flash-preview': tokenPrice(0.5, 0.05, 3),
  'gemini-3.1-pro-preview': tokenPrice(2, 0.2, 12, OVER_200K),
  'gemini-3.1-flash-lite': tokenPrice(0.25, 0.025, 1.5),
  'gemini-3.5-flash': tokenPrice(1.5, 0.15, 9),
  'gemini-3.5-flash-lite': tokenPrice(0.3, 0.03, 2.5),
  'gemini-3.6-flash': tokenPrice(1.5, 0.15, 7.5),
  'gemini-embedding-001': { input: 0.15, output: 0 },
}
