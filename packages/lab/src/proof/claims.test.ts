import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ClaimEvidence, CLAIMS, claimOf } from './claims.js'

const none = { trials: 0, passed: 0 }
const corpus = (identical: number, breaks = 0) => ({ identical, same: 0, breaks, notChecked: 0 })
const evidence = (changes: Partial<ClaimEvidence> = {}): ClaimEvidence => ({
  siblings: none,
  probes: none,
  renamed: 0,
  opposites: none,
  corpus: corpus(0),
  isOracleGiven: false,
  literals: [],
  ...changes,
})

describe('a change repairs', () => {
  const kind = { siblings: { trials: 2, passed: 2 } }
  const judged = { ...kind, corpus: corpus(3), isOracleGiven: true }
  test.each<[what: string, given: Partial<ClaimEvidence>, claim: string]>([
    ['this run, with nothing to compare', {}, 'this-run'],
    [
      'this run, with passing runs but no other failed one',
      { corpus: corpus(9), isOracleGiven: true },
      'this-run',
    ],
    ['this run, if a sibling still fails', { siblings: { trials: 2, passed: 1 } }, 'this-run'],
    [
      'this run, if it compares with a value of the run',
      { ...judged, literals: [{ at: 'agent.mjs:3', value: 'c9' }] },
      'this-run',
    ],
    ['its kind, with a sibling', kind, 'this-kind'],
    ['its kind, with a variant', { probes: { trials: 1, passed: 1 }, renamed: 1 }, 'this-kind'],
    [
      'this run, if a model wrote it and variants only have other names',
      { probes: { trials: 2, passed: 2 }, renamed: 2, isWritten: true },
      'this-run',
    ],
    [
      'its kind, if a model wrote it and a variant has another answer',
      { probes: { trials: 2, passed: 2 }, renamed: 1, isWritten: true },
      'this-kind',
    ],
    [
      'its kind, if a model wrote it and a sibling passes',
      { ...kind, probes: { trials: 2, passed: 2 }, renamed: 2, isWritten: true },
      'this-kind',
    ],
    [
      'its kind, if only exit codes judge passing runs',
      { ...judged, isOracleGiven: false },
      'this-kind',
    ],
    ['its kind, if no passing run could be checked', { ...judged, corpus: corpus(0) }, 'this-kind'],
    [
      'its kind, if an opposite run changes',
      { ...judged, opposites: { trials: 2, passed: 1 } },
      'this-kind',
    ],
    ['as proven', { ...judged, opposites: { trials: 2, passed: 2 } }, 'proven'],
  ])('%s', (_what, given, claim) => {
    expect(claimOf(evidence(given))).toBe(claim)
  })
})

test('more evidence against a change never makes its claim stronger', () => {
  const counts = fc
    .tuple(fc.nat(5), fc.nat(5))
    .map(([trials, failed]) => ({ trials, passed: Math.max(0, trials - failed) }))
  const any = fc.record({
    siblings: counts,
    probes: counts,
    renamed: fc.constant(0),
    opposites: counts,
    corpus: fc.tuple(fc.nat(3), fc.nat(2)).map(([identical, breaks]) => corpus(identical, breaks)),
    isOracleGiven: fc.boolean(),
    literals: fc.constant([]),
  })
  fc.assert(
    fc.property(any, fc.constantFrom('siblings', 'probes', 'opposites'), (given, more) => {
      const { trials, passed } = given[more]
      const worse = { ...given, [more]: { trials: trials + 1, passed } }
      expect(CLAIMS.indexOf(claimOf(worse))).toBeLessThanOrEqual(CLAIMS.indexOf(claimOf(given)))
    }),
  )
})
