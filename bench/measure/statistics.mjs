/** @param {readonly number[]} values @param {number} share From 0 to 1. */
export function quantile(values, share) {
  const sorted = [...values].toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

/** @param {readonly number[]} values */
export const median = (values) => quantile(values, 0.5)
