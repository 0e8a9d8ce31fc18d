import { betaCdf } from './beta-quantile.js'

/** How probable at least this many failures are among so many forks, when each fails at this rate. */
export function binomialTail(fails: number, forks: number, rate: number): number {
  if (fails <= 0) return 1
  if (fails > forks) return 0
  return betaCdf(rate, fails, forks - fails + 1)
}
