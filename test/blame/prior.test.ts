import { describe, expect, test } from 'vitest'
import { cautiousPrior, rankSteps, type PriorStep } from '@retake/lab'
import { choose, fitLogit } from '../../bench/blame-data/conditional-logit.mjs'
import { rankByNestedFolds } from '../../bench/blame-data/nested-folds.mjs'
import { stepFeatures } from '../../bench/blame-data/step-features.mjs'
import { WHO_AND_WHEN_WEIGHTS } from '../../bench/blame-data/who-and-when-weights.mjs'

const agent = (text: string, calls = ''): PriorStep => ({
  role: 'agent',
  speaker: 'clerk',
  text,
  ...(calls !== '' && { calls }),
})
const tool = (text: string, isError?: boolean): PriorStep => ({
  role: 'environment',
  speaker: 'ledger',
  text,
  ...(isError !== undefined && { isError }),
})

/** A clerk that looks into a ledger; the third call fails. */
const clerk: readonly PriorStep[] = [
  { role: 'task', speaker: 'owner', text: 'What do we owe the miller?' },
  agent('I look into the ledger first.', 'open ledger'),
  tool('12 pages'),
  agent('Now the page of the miller.', 'read page 7'),
  tool('page 7 is torn', true),
  agent('Let us assume a sum of 480.', ''),
  agent('The final answer is 480.', ''),
]

describe('features of steps', () => {
  test('the same steps always give the same numbers', () => {
    expect(stepFeatures(clerk)).toEqual(stepFeatures(structuredClone(clerk)))
  })

  test('the suspect acted just before the first failure, or else first', () => {
    const suspectIn = (steps: readonly PriorStep[]) =>
      stepFeatures(steps).findIndex(({ suspect }) => suspect === 1)
    expect(suspectIn(clerk)).toBe(3)
    expect(suspectIn(clerk.slice(0, 4))).toBe(1)
  })

  test('failures are read from texts only without a flag, and only from an environment', () => {
    const failed = (step: PriorStep) => stepFeatures([agent('go'), step])[1]?.failed
    expect(failed(tool('exitcode: 1 (execution failed)'))).toBe(1)
    expect(failed(tool('Traceback (most recent call last)'))).toBe(1)
    expect(failed(tool('exitcode: 1 (execution failed)', false))).toBe(0)
    expect(failed(tool('all is well'))).toBe(0)
    expect(failed(agent('exitcode: 1 (execution failed)'))).toBe(0)
  })

  test('of several concurrent tool calls, one that failed counts', () => {
    const steps = [agent('both', 'a b'), tool('fine', false), tool('torn', true), agent('well')]
    expect(stepFeatures(steps)[0]).toMatchObject({ failsNext: 1, failsNextFirst: 1 })
  })

  test('invented numbers are new, and carried to the end', () => {
    const made = stepFeatures(clerk)[5]
    expect(made?.hedging).toBeGreaterThan(0)
    expect(made?.newNumbers).toBe(1)
    expect(made?.bringsEndNumbers).toBeGreaterThan(0)
    expect(stepFeatures(clerk)[6]).toMatchObject({ newNumbers: 0, bringsEndNumbers: 0 })
  })

  test('a call that is made again counts as repeated', () => {
    const steps = [
      agent('', 'read 7'),
      tool('torn', true),
      agent('', 'read 7'),
      agent('', 'read 8'),
    ]
    expect(stepFeatures(steps).map(({ repeats }) => repeats)).toEqual([0, 0, 1, 0])
  })

  test('every number is finite, whatever the steps are', () => {
    const odd: readonly (readonly PriorStep[])[] = [
      [],
      [agent('')],
      [tool('')],
      [{ role: 'task', speaker: '', text: '' }],
      // Long runs of blanks, which a careless pattern would try in every way.
      [
        agent('? \n'.repeat(200_000)),
        tool(`${' \n'.repeat(500_000)}x`),
        tool(' '.repeat(1900) + 'x'),
      ],
      [agent('1'.repeat(100_000)), tool('\uD800 \u0000'), agent(' '.repeat(50_000))],
    ]
    for (const steps of odd) {
      const features = stepFeatures(steps)
      expect(features).toHaveLength(steps.length)
      for (const step of features) {
        for (const [name, value] of Object.entries(step)) {
          expect(Number.isFinite(value), name).toBe(true)
        }
      }
    }
  })
})

describe('ranking of steps', () => {
  test('shares add up to 1, and none is 0', () => {
    const features = stepFeatures(clerk)
    for (const weights of [WHO_AND_WHEN_WEIGHTS, { fromStart: 1000 }, {}]) {
      const shares = rankSteps(features, weights)
      expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9)
      expect(Math.min(...shares)).toBeGreaterThan(0.0009)
    }
    for (const share of rankSteps(features, {})) expect(share).toBeCloseTo(1 / clerk.length, 9)
    expect(rankSteps([], WHO_AND_WHEN_WEIGHTS)).toEqual([])
  })

  test('the shipped prior names the step before the first failure, and halves no other share', () => {
    const shares = cautiousPrior(clerk)
    expect(shares.indexOf(Math.max(...shares))).toBe(3)
    expect(Math.min(...shares)).toBeGreaterThan(0.5 / clerk.length)
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9)
  })
})

describe('learning weights', () => {
  /** Runs in which the labelled step is the one with the largest `signal`; `noise` says nothing. */
  const cases = Array.from({ length: 40 }, (_, run) => {
    const label = (run * 7) % 5
    const features = Array.from({ length: 5 }, (__, step) => ({
      signal: step === label ? 1 : 0,
      noise: ((run * 31 + step * 17) % 13) / 13,
    }))
    return { id: `question ${run}`, label, features }
  })
  const rowsOf = (names: readonly ('signal' | 'noise')[]) =>
    cases.map(({ label, features }) => ({
      label,
      rows: features.map((step) => Float64Array.from(names, (name) => step[name])),
    }))

  test('a feature that identifies the labelled step gets the weight', () => {
    const choices = rowsOf(['signal', 'noise'])
    const weights = fitLogit(choices, 1)
    expect(weights[0]).toBeGreaterThan(3)
    expect(Math.abs(weights[1]!)).toBeLessThan(0.5)
    for (const { rows, label } of choices) {
      const shares = choose(rows, weights)
      expect(shares.indexOf(Math.max(...shares))).toBe(label)
    }
  })

  test('a run is never ranked by weights that saw its question', () => {
    // Every question has a feature of its own that gives its label away. Learned from
    // other questions it is worth nothing; with a leak it would be worth everything.
    const some = cases.slice(0, 15)
    const leaking = some.map(({ id, label }, run) => ({
      id,
      label,
      features: Array.from({ length: 5 }, (_, step) =>
        Object.fromEntries(
          some.map((__, other) => [`own ${other}`, other === run && step === label ? 1 : 0]),
        ),
      ),
    }))
    const ids = leaking.map(({ id }) => id)
    const ranked = rankByNestedFolds(leaking, ids, 1).get('all features')
    for (const shares of ranked ?? []) {
      for (const share of shares) expect(share).toBeCloseTo(0.2, 6)
    }
    expect(ranked).toHaveLength(some.length)
  })
})
