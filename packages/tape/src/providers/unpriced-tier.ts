import { optionalText, type JsonRecord } from './json-shape.js'

/** Other service tiers have other prices. */
export const unpricedTier = (answer: JsonRecord): string[] => {
  const tier = optionalText(answer['service_tier'])
  return tier === undefined || ['auto', 'default', 'standard'].includes(tier)
    ? []
    : [`service tier ${tier}`]
}
