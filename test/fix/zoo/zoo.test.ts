import { describe, expect, test } from 'vitest'
import { isSoak, sampled, soakOnly } from '../../support/soak.js'
import { checkAnimal, fixAnimal, HELD_OUT, WIDENED, ZOO } from './run-zoo.mjs'
import type { ZooAnimal } from './run-zoo.mjs'

const countBy = (key: (animal: ZooAnimal) => string): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const animal of ZOO) counts[key(animal)] = (counts[key(animal)] ?? 0) + 1
  return counts
}

const named = (name: string): ZooAnimal => {
  const found = ZOO.find((animal) => animal.name === name)
  if (found === undefined) throw new Error(`no animal is called ${name}`)
  return found
}

test('the zoo is weighted like published issues of agents', () => {
  expect(countBy(({ group }) => group)).toEqual({
    'model operation': 19,
    utilities: 13,
    tools: 11,
    memory: 8,
    providers: 5,
    workflow: 4,
  })
  expect(countBy(({ expect: expected = '' }) => expected)).toEqual({
    fixed: 45,
    'not-fixed': 10,
    flaky: 5,
  })
  const all = [...ZOO, ...HELD_OUT, ...WIDENED]
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
})

test.each([...ZOO, ...HELD_OUT, ...WIDENED].map((animal) => [animal.name, animal] as const))(
  '%s fails, passes and is fixed as its table says',
  async (_name, animal) => {
    soakOnly()
    expect(await checkAnimal(animal)).toEqual([])
  },
)

/** No false fix, no regression, nothing touched: holds for every animal and every fixer. */
const harm = ({
  falseFixes,
  regressions,
  escapes,
  changed,
}: Awaited<ReturnType<typeof fixAnimal>>) => ({
  falseFixes,
  regressions,
  escapes,
  changed,
})
const noHarm = { falseFixes: [], regressions: [], escapes: [], changed: [] }

/** Rules alone cannot fix every animal, but they must fix the sampled ones. */
function honestOutcomes({ expect: expected }: ZooAnimal, isSampled: boolean): readonly string[] {
  if (expected === 'not-fixed') return ['cannot fix, as is true']
  if (expected === 'flaky') return ['called flaky']
  return isSampled ? ['fixed'] : ['fixed', 'missed']
}

const options = isSoak ? {} : { passing: 1 }

describe('without a model', () => {
  const SAMPLE = ['prose-around-json', ...WIDENED.map(({ name }) => name)]
  // Before a merge, test/cli/fix.test.ts has a fix by a rule.
  const animals = [...ZOO, ...HELD_OUT, ...WIDENED].map((animal) => [animal.name, animal] as const)
  test.each(animals)('%s is fixed, or the command says that it cannot', async (name, animal) => {
    soakOnly()
    const result = await fixAnimal(animal, 'rules', options)
    const details = JSON.stringify(result)
    expect(harm(result), details).toEqual(noHarm)
    expect(honestOutcomes(animal, SAMPLE.includes(name)), details).toContain(result.outcome)
  })
})

describe('with a model that proposes', () => {
  const fixable = ZOO.filter(({ expect: expected }) => expected === 'fixed')
  test.each(fixable.map((animal) => [animal.name, animal] as const))(
    'the right patch, %s is fixed',
    async (_name, animal) => {
      soakOnly()
      const result = await fixAnimal(animal, 'right', options)
      expect(harm(result)).toEqual(noHarm)
      expect(result.outcome, JSON.stringify(result)).toBe('fixed')
    },
  )

  const kinds = ['wrong', 'partial', 'hostile'] as const
  const patches = kinds.flatMap((kind) => ZOO.map(({ name }) => [kind, name] as const))
  test.each(sampled(patches, ([kind, name]) => kind === 'hostile' && name === 'fenced-json'))(
    'a %s patch, the one for %s does no harm',
    async (kind, name) => {
      const result = await fixAnimal(named(name), kind, options)
      const details = JSON.stringify(result)
      expect(harm(result), details).toEqual(noHarm)
      expect(kind === 'hostile' || result.outcome !== 'fixed', details).toBe(true)
    },
  )
})
