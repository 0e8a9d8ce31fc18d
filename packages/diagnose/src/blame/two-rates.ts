import type { Levels, Tally } from './levels.js'
import { logBeta } from './stats/log-gamma.js'

/**
 * How much likelier it is that one tally has a higher rate of failing than the other, and
 * not only by a little, than that they have the same rate; as a logarithm.
 */
export function logOddsOfTwoRates(levels: Levels, higher: Tally, lower: Tally): number {
  return levels.logEvidence(higher, lower) - logSameRate(higher, lower)
}

/** How likely both tallies are if they have one rate, whatever it is. */
function logSameRate(first: Tally, second: Tally): number {
  const fails = first.fails + second.fails
  const passes = first.forks + second.forks - fails
  return logBeta(fails + 0.5, passes + 0.5) - Math.log(Math.PI)
}
