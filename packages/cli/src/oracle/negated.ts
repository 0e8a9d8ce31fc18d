import type { Check } from './check.js'
import type { Verdict } from './oracle.js'

const OPPOSITE = {
  pass: 'fail',
  fail: 'pass',
  undefined: 'undefined',
} as const satisfies Record<Verdict, Verdict>

/** `not:…`: what passes fails, and the other way round; what cannot be told stays so. */
export const negated = (check: Check): Check => ({
  ...check,
  async prepare() {
    const judge = await check.prepare()
    return async (outcome, signal) => {
      const { verdict, votes, ...rest } = await judge(outcome, signal)
      return {
        ...rest,
        verdict: OPPOSITE[verdict],
        ...(votes && { votes: votes.map((vote) => OPPOSITE[vote]) }),
      }
    }
  },
})
