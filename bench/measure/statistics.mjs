/** @param {readonly number[]} values @param {number} share From 0 to 1. */
export function quantile(values, share) {
  const sorted = [...values].toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

/**
 * Median of the ratios of values that were measured one after the other: whatever slows the
 * machine for a while slows both.
 *
 * @param {readonly number[]} values @param {readonly number[]} others
 */
export const pairedRatio = (values, others) =>
  median(values.map((value, index) => value / others[index]))

/** @param {readonly number[]} values */
export const median = (values) => quantile(values, 0.5)
