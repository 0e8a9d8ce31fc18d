import { filledText, type JsonRecord } from './json-shape.js'

/** The tiers that list prices are for, in the words of all providers. */
const STANDARD = new Set(['auto', 'default', 'standard', 'standard_only', 'on_demand'])

/** Other service tiers have other prices. */
export const unpricedTier = (answer: JsonRecord): string[] => {
  const tier = filledText(answer['service_tier'])
  return tier === undefined || STANDARD.has(tier.toLowerCase()) ? [] : [`service tier ${tier}`]
}
