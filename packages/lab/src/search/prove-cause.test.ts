import { expect, test } from 'vitest'
import { takeAnchors } from './anchors.js'
import { findCore, proveCause } from './learn-causes.js'
import type { Coalition, ForkSource } from './fork-source.js'
import { Search } from './search.js'

async function searchOf(
  fails: (kept: readonly number[], draw: number) => boolean,
): Promise<Search> {
  const source: ForkSource = {
    stepCount: 10,
    recorded: Array.from({ length: 10 }, () => 0),
    ambient: [],
    fork: async ({ pinned }: Coalition, draw) => ({
      outcome: fails(pinned, draw) ? 'fail' : 'pass',
      values: [],
    }),
  }
  const options = { errorRate: 0.01, seed: 1, maxCauses: 4, echoes: true }
  const search = new Search(source, options)
  expect((await takeAnchors(search)).areSeparate).toBe(true)
  return search
}

const has = (kept: readonly number[], ...steps: number[]) =>
  steps.every((step) => kept.includes(step))

test('two steps that fail only together are proven', async () => {
  const search = await searchOf((kept) => has(kept, 2, 6))
  const { isProven, errorRate } = await proveCause(search, [2, 6], 'first')
  expect(isProven).toBe(true)
  expect(errorRate).toBeLessThan(0.01)
})

test.for([
  ['half of it', [6]],
  ['it and a bystander', [2, 4, 6]],
  ['it and what follows', [2, 6, 8]],
  ['something else', [3]],
] as const)('%s is not proven', async ([, core]) => {
  const search = await searchOf((kept) => has(kept, 2, 6))
  expect((await proveCause(search, core, 'first')).isProven).toBe(false)
})

test('a step that fails later is a cause, but not the first one', async () => {
  const search = await searchOf((kept) => has(kept, 2) || has(kept, 7))
  expect((await proveCause(search, [7], 'first')).isProven).toBe(false)
  expect((await proveCause(search, [7], 'other')).isProven).toBe(true)
})

test('a step that fails much less often than the whole run is not its cause', async () => {
  const search = await searchOf((kept, draw) => has(kept, 2, 6) || (has(kept, 2) && draw % 2 === 0))
  expect((await proveCause(search, [2], 'first')).isProven).toBe(false)
})

test('a member that turns out not to be needed is dropped', async () => {
  // Alone step 2 fails, but not with its neighbours: a search by halves cannot see that.
  const search = await searchOf((kept) => has(kept, 2, 6) || (has(kept, 2) && kept.length === 1))
  expect(await findCore(search, search.everyStep)).toEqual([2])
})
