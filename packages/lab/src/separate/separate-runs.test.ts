import { expect, test } from 'vitest'
import { fisherExact, type ObservedRun, separateRuns } from './separate-runs.js'

/** Numbers that are the same in every run of this file. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test('the exact test agrees with published values', () => {
  // Fisher's lady tasting tea, and a table from Agresti.
  expect(fisherExact(4, 0, 4, 4)).toBeCloseTo(2 / 70, 9)
  expect(fisherExact(3, 1, 4, 4)).toBeCloseTo(34 / 70, 9)
  expect(fisherExact(0, 0, 5, 5)).toBe(1)
})

const FIELDS = 12
type Row = Readonly<Record<string, number | string | boolean>>

/** Ways in which state can be wrong. */
const BUGS: readonly [text: string, isBug: (row: Row) => boolean][] = [
  ...Array.from({ length: 8 }, (_, index): [string, (row: Row) => boolean] => [
    `n${index} >`,
    (row) => Number(row[`n${index}`]) > 70,
  ]),
  ...Array.from({ length: 4 }, (_, index): [string, (row: Row) => boolean] => [
    `n${index} <`,
    (row) => Number(row[`n${index}`]) < 20,
  ]),
  ...Array.from({ length: 4 }, (_, index): [string, (row: Row) => boolean] => [
    `s${index} === "red"`,
    (row) => row[`s${index}`] === 'red',
  ]),
  ...Array.from({ length: 4 }, (_, index): [string, (row: Row) => boolean] => [
    `b${index} === true`,
    (row) => row[`b${index}`] === true,
  ]),
]

function observe(random: () => number, isBug: (row: Row) => boolean, id: number): ObservedRun {
  const row: Record<string, number | string | boolean> = {}
  for (let index = 0; index < FIELDS; index++) {
    row[`n${index}`] = Math.floor(random() * 100)
    row[`s${index}`] = ['red', 'green', 'blue'][Math.floor(random() * 3)] ?? ''
    row[`b${index}`] = random() < 0.3
  }
  // One run in ten fails for another reason, or passes by luck.
  const failed = random() < 0.1 ? random() < 0.5 : isBug(row)
  const values = Object.entries(row).map(([path, value], index) => ({
    site: `agent.ts:${1 + (index % 7)}`,
    path,
    value,
  }))
  return { id: String(id), failed, values }
}

const isSoak = process.env['RETAKE_SOAK'] === '1'

test.each([[60, 3], ...(isSoak ? [[1000, 1]] : [])])(
  'in %i noisy runs, each of 20 planted bugs is among the first %i',
  (count = 0, most = 0) => {
    expect(BUGS).toHaveLength(20)
    const ranks: number[] = []
    for (const [seed, [text, isBug]] of BUGS.entries()) {
      const random = seeded(seed + 1)
      const runs = Array.from({ length: count }, (_, id) => observe(random, isBug, id))
      const { predicates } = separateRuns(runs)
      // The complement of a predicate separates as well.
      const [name = ''] = text.split(' ')
      const rank = predicates.findIndex((each) => each.text.startsWith(`${name} `))
      expect(
        rank,
        `${text} in ${predicates.map((each) => each.text).join(', ')}`,
      ).toBeGreaterThanOrEqual(0)
      expect(rank, text).toBeLessThan(most)
      ranks.push(rank + 1)
    }
    if (isSoak) process.stdout.write(`ranks in ${count} runs: ${ranks.join(' ')}\n`)
  },
)

test('without a difference nothing is significant, and predicates of the same runs are one', () => {
  const random = seeded(7)
  const runs = Array.from({ length: 60 }, (_, id) => observe(random, () => random() < 0.4, id))
  expect(separateRuns(runs).predicates[0]?.adjustedP).toBeGreaterThan(0.05)
  const twins = runs.map((each, index) => ({
    ...each,
    failed: index < 20,
    values: [
      { site: 'a.ts:1', path: 'x', value: index < 20 },
      { site: 'a.ts:2', path: 'y', value: index < 20 ? 'yes' : 'no' },
    ],
  }))
  const [best, ...others] = separateRuns(twins).predicates
  expect(best).toMatchObject({ site: 'a.ts:1', text: 'x === true', failed: 20, passed: 0 })
  expect(best?.alike).toContain('a.ts:2  y === "yes"')
  expect(others).toEqual([])
})
