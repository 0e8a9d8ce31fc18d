import { blameRun, classicView } from '@retake/diagnose'
import { flakyRun, type PlantedModel, SCENARIOS } from '@retake/diagnose/scenarios'
import { expect, test } from 'vitest'
import { blameLines } from './blame-lines.js'
import type { FindingsFile } from './findings.js'

async function searched(model: PlantedModel, maxForks = 2000): Promise<FindingsFile> {
  const findings = await blameRun(model, { maxForks })
  return {
    version: 1,
    run: '20261115-093012-abcd',
    at: 0,
    oracle: 'stdout:/refunded/',
    question: 'q',
    steps: findings.steps.map(({ label }) => ({
      label,
      kind: 'tool' as const,
      name: 'tool search_policy',
      title: 'search_policy({"query":"how long may a customer return an espresso machine"})',
    })),
    findings,
    facts: {
      newForks: findings.forks.asked,
      undefinedBy: { 'the run broke: TypeError: x is not a function': 2 },
      forcedAnswers: 3,
      wallMs: 12_345,
      free: [],
      maxForks,
      seed: 1,
    },
  }
}

const shown = (found: FindingsFile, width: number): string[] =>
  blameLines(found, { paint: (_, text) => text, width }, { evidence: true })

test('the verdict is a sentence: the root, and what only repeats it', async () => {
  const [first] = shown(await searched(SCENARIOS['root-echo-7'](1)), 120)
  expect(first).toBe('Step 1 (tool search_policy) made this run fail; step 2 only repeats it.')
})

test('joint causes and back-ups are told as such', async () => {
  const lines = shown(await searched(SCENARIOS['root-echo-and2-7'](1)), 200)
  expect(lines[0]).toBe(
    'Step 1 (tool search_policy) made this run fail; step 2 only repeats it; ' +
      'steps 4 and 5 together would have made it fail without that.',
  )
  expect(lines.join('\n')).toMatch(/repair\n +steps 1 and [45] together; then the run passes/)
  const pair = shown(await searched(SCENARIOS['and2-7'](1)), 200)
  expect(pair[0]).toBe(
    'Steps 4 and 5 (tool search_policy, tool search_policy) together made this run fail.',
  )
})

test('where nothing is to blame, no step is listed', async () => {
  const lines = shown(await searched(flakyRun(1)), 100)
  expect(lines[0]).toMatch(/^(Flaky|No step explains this failure)/)
  expect(lines.join('\n')).not.toMatch(/causes|repair|root|joint|did not come/)
  expect(lines.join('\n')).toMatch(/it fails as often whether|not distinguished, the unchanged run/)
})

test('a search that was stopped says so and blames nobody it has not proven', async () => {
  const lines = shown(await searched(SCENARIOS['and2-7'](1), 5), 100)
  expect(lines[0]).toMatch(/^Stopped/)
  expect(lines.join('\n')).not.toMatch(/made (it|this run) fail/)
})

test('everything fits into 60 and into 120 columns', async () => {
  for (const name of ['root-echo-and2-7', 'cascade-50', 'preempted-20'] as const) {
    const found = await searched(SCENARIOS[name](1))
    const classic = await classicView(SCENARIOS[name](1))
    for (const width of [60, 120]) {
      const wide = shown({ ...found, classic }, width).filter((line) => line.length > width)
      expect(wide).toEqual([])
    }
  }
})

test('where no step made it fail, it is said how steps that always answer the same can be tried', async () => {
  const found = await searched(SCENARIOS['root-echo-7'](1))
  const nobody = { ...found.findings, verdict: 'no attributable step' as const, causes: [] }
  const untried = { ...found, findings: nobody }
  expect(shown(untried, 200).join('\n')).toContain('--free tool=neutral')
  const tried = { ...untried, facts: { ...found.facts, free: ['tool=neutral'] } }
  expect(shown(tried, 200).join('\n')).not.toContain('--free')
  expect(shown(found, 200).join('\n')).not.toContain('--free')
})
