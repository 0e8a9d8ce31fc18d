import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { describe, expect, test } from 'vitest'
import { MUTANTS } from './mutants.mjs'

const folder = fileURLToPath(new URL('.', import.meta.url))
const isSoak = process.env['RETAKE_SOAK'] === '1'

/** Two processes, one per core. A soak run has other seeds each day. */
const seeds = isSoak
  ? [1, 2].map((each) => `${new Date().toISOString().slice(0, 10)}-${each}`)
  : ['1', '2']
const cycles = isSoak ? 100_000 : 600

const simulate = (args: readonly string[], mutant?: number) =>
  execa(process.execPath, ['--max-semi-space-size=64', `${folder}simulate.mjs`, ...args], {
    reject: false,
    ...(mutant !== undefined && { env: { RETAKE_MUTANT: String(mutant) } }),
  })

test(`${2 * cycles} runs are recorded, replayed and run again as promised`, async () => {
  const found = await Promise.all(
    seeds.map((seed) => simulate(['--seed', seed, '--cycles', String(cycles)])),
  )
  for (const { stderr } of found) expect(stderr).toBe('')
})

test.each([
  ['a pinned answer went to another request of the conversation', '1862', 'pin'],
  ['a call that had lost a race failed before the race', '783', 'fork'],
  ['the clock of a branch went back from the edited answer', '947', 'forkOfFork'],
])('fixed bug: %s', async (_, cycle, scenario) => {
  const args = ['--seed', '11', '--cycle', cycle, '--scenario', scenario]
  expect((await simulate(args)).stderr).toBe('')
})

const repeats = MUTANTS.findIndex(({ name }) => name.includes('the hand-over repeats'))

test('a mutant is caught, and its failure names the command that repeats it', async () => {
  const first = await simulate(['--seed', '3', '--cycles', '300'], repeats)
  expect(first.exitCode).toBe(1)
  const [, args = ''] = /node test\/simulation\/simulate\.mjs (.*)/.exec(first.stderr) ?? []
  const again = await simulate(args.split(' '), repeats)
  expect(again.stderr).toBe(first.stderr)
})

describe('a mutant is caught', () => {
  const others = MUTANTS.map(({ name, seed = '1' }, index) => [name, seed, index] as const).filter(
    ([, , index]) => index !== repeats,
  )
  test.concurrent.each(others)('%s', async (_, seed, mutant) => {
    const args = ['--seed', seed, '--cycles', '1000']
    const { exitCode, stderr } = await simulate(args, mutant)
    expect(stderr).toContain('Repeat it:')
    expect(exitCode).toBe(1)
  })
})
