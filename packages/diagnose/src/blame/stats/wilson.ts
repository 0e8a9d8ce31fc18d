import { UNKNOWN, type Interval } from './interval.js'

/**
 * Bounds of a probability from a number of forks that was fixed beforehand; on average over
 * all probabilities they hold as often as `z` says. Looked at after every fork they do not:
 * then use `confidenceSequence`.
 */
export function wilson(fails: number, forks: number, z = 1.959964): Interval {
  if (forks === 0) return UNKNOWN
  const seen = fails / forks
  const scale = 1 + (z * z) / forks
  const middle = (seen + (z * z) / (2 * forks)) / scale
  const half = (z * Math.sqrt((seen * (1 - seen)) / forks + (z * z) / (4 * forks * forks))) / scale
  return {
    low: fails === 0 ? 0 : Math.max(0, middle - half),
    high: fails === forks ? 1 : Math.min(1, middle + half),
  }
}
