import { blameRun } from '../search/blame-run.js'
import { classicView } from '../search/classic-view.js'
import { flakyRun, SCENARIOS } from '../scenarios/scenarios.js'
import type { PlantedModel } from '../scenarios/planted-model.js'
import { expect, test } from 'vitest'
import { cliErrors } from '@retake/runner/errors'
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
    failureClass: 'unknown',
    causes: [],
    steps: findings.steps.map(({ label }) => ({
      label,
      kind: 'tool' as const,
      name: 'tool search_policy',
      title: 'search_policy({"query":"how long may a customer return an espresso machine"})',
      did: DID,
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

const DID = 'search_policy with query "how long may a customer return it"'

const shown = (found: FindingsFile, width: number): string[] =>
  blameLines(found, { paint: (_, text) => text, width }, { evidence: true })

test('the verdict is a sentence: the root, and what only repeats it', async () => {
  const [first] = shown(await searched(SCENARIOS['root-echo-7'](1)), 120)
  expect(first).toBe(`Step 1 (${DID}) made this run fail; step 2 only repeats it.`)
})

test('joint causes and back-ups are named as such', async () => {
  const lines = shown(await searched(SCENARIOS['root-echo-and2-7'](1)), 200)
  expect(lines[0]).toBe(
    `Step 1 (${DID}) made this run fail; step 2 only repeats it; ` +
      'steps 4 and 5 together would have made it fail without that.',
  )
  expect(lines.join('\n')).toMatch(/repair\n +With steps 1 and [45] asked again, the run passed/)
  const pair = shown(await searched(SCENARIOS['and2-7'](1)), 200)
  expect(pair[0]).toBe(`Step 4 (${DID}) and step 5 (${DID}) together made this run fail.`)
})

test('where nothing is to blame, no step is listed', async () => {
  const lines = shown(await searched(flakyRun(1)), 100)
  expect(lines[0]).toMatch(/^(Flaky|No step explains this failure)/)
  expect(lines.join('\n')).not.toMatch(/causes|repair|root|joint|did not come/)
  expect(lines.join('\n')).toMatch(/Run again from the start, the agent failed|the unchanged run/)
})

test('clear steps are shown with the test that cleared them', async () => {
  const found = await searched(SCENARIOS['root-echo-7'](1))
  expect(shown(found, 200).join('\n')).toMatch(
    /steps 3–7: clear, the run passes with them pinned \(\d+ forks?\)/,
  )
  const cleared = { fails: 38, forks: 52, low: 0.5, high: 0.9 }
  const often = shown({ ...found, findings: { ...found.findings, cleared } }, 200).join('\n')
  expect(often).toMatch(
    /steps 3–7: clear, with them pinned it fails 38 of 52 times, and with nothing/,
  )
  expect(often).not.toContain('the run passes with them pinned')
})

test('a call that was answered as recorded, and one that no recording has, are explained', async () => {
  const found = await searched(SCENARIOS['root-echo-7'](1))
  const steps = found.steps.map((step, index) => (index === 3 ? { ...step, tool: 'pay' } : step))
  const facts = { ...found.facts, assumed: { 2: 12 }, blocked: ['pay'] }
  const lines = shown({ ...found, steps, facts }, 300).join('\n')
  expect(lines).toContain('12 times step 2 ')
  expect(lines).toContain('It was not run, and got its recorded answer')
  expect(lines).toContain('If pay answers the same whatever it is called with: --free 4=recorded.')
})

test('a stopped search says so and blames no unproven step', async () => {
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

test('where no step explains it, tools that answered the same are named', async () => {
  const found = await searched(SCENARIOS['root-echo-7'](1))
  const nobody = { ...found.findings, verdict: 'no attributable step' as const, causes: [] }
  const changed = nobody.steps.map((step) => ({ ...step, isUnchanged: false }))
  const [first] = shown({ ...found, findings: { ...nobody, steps: changed } }, 200)
  expect(first).toContain('look at the prompt and the code.')
  const steps = nobody.steps.map((step) => ({ ...step, isUnchanged: true }))
  const same = shown({ ...found, findings: { ...nobody, steps } }, 200).join('\n')
  expect(same).toContain('or at what always answers the same (tool search_policy)')
  expect(same).toContain("To try another answer: --free '1=json:…'")
  expect(same).not.toContain('neutral')
  expect(shown(found, 200).join('\n')).not.toContain('--free')
})

test('an empty answer shows dependence, and the text claims no more', async () => {
  const found = await searched(SCENARIOS['root-echo-7'](1))
  const steps = found.findings.steps.map((step) => ({ ...step, intervention: 'neutral' as const }))
  const lines = shown(
    { ...found, findings: { ...found.findings, verdict: 'dependence', steps } },
    200,
  )
  expect(lines[0]).toBe(
    `The failure depends on step 1 (${DID}): if it says nothing, the run passes; step 2 only repeats it.`,
  )
  expect(lines.join('\n')).not.toContain('made this run fail')
  expect(lines.join('\n')).toContain('not that its answer was wrong')
})

test('the cost of forks of an earlier search is not shown as paid by this one', async () => {
  const found = await searched(SCENARIOS['root-echo-7'](1))
  const { findings, facts } = found
  const again = {
    ...found,
    findings: { ...findings, forks: { ...findings.forks, costUsd: 0.0076 } },
    facts: { ...facts, newForks: 0, spentUsd: 0 },
  }
  expect(shown(again, 200).join(' ')).toContain('$0.00760, of which $0 now')
})

test('a search that may send nothing names one step or several', () => {
  expect(cliErrors.BLAME_OFFLINE(['1']).why).toMatch(/^Step 1 sends a request when it is free/)
  expect(cliErrors.BLAME_OFFLINE(['1', '3']).why).toMatch(/^Steps 1, 3 send requests /)
})
