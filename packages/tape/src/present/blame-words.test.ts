import { expect, test } from 'vitest'
import { rateOf, sampleFindings } from '../../../../test/support/blame-findings.js'
import type { BlamedStep, BlameFindings } from '../findings/blame-findings.js'
import {
  confidenceText,
  failuresText,
  intervalText,
  rateText,
  repairSentence,
  roleWord,
  stepsText,
  verdictSentence,
} from './blame-words.js'

const root = { role: 'root', steps: ['4'], sufficiency: rateOf(4, 4), shares: [1] } as const
const withoutEchoes = {
  steps: sampleFindings().steps.map((step): BlamedStep => ({ ...step, role: 'clear' })),
}
const sentenceOf = (changes: Partial<BlameFindings>): string =>
  verdictSentence({ findings: sampleFindings({ ...withoutEchoes, ...changes }) })

test.each([
  [{ causes: [root] }, 'Step 4 made this run fail.'],
  [
    { causes: [], verdict: 'no attributable step' },
    'No step explains this failure: look at the prompt and the code.',
  ],
  [{ causes: [], verdict: 'flaky' }, 'Flaky: no step explains this failure.'],
  [
    { causes: [], verdict: 'inconclusive' },
    'Cannot tell: no step could be proven to cause the failure.',
  ],
  [
    { causes: [root], verdict: 'stopped' },
    'Stopped before a verdict. Proven so far: step 4 made it fail.',
  ],
  [{ causes: [] }, 'The failure was attributed, but no cause is named.'],
] as const)('the verdict of %j is a sentence', (changes, sentence) => {
  expect(sentenceOf(changes)).toBe(sentence)
})

test('a verdict names echoes, joint causes and back-ups, with tools where they are known', () => {
  const [first, second] = [root, { ...root, role: 'back-up', steps: ['1', '6'] }] as const
  const echo = { ...sampleFindings().steps[0], role: 'echo' } as BlamedStep
  const steps = withoutEchoes.steps.with(4, { ...echo, label: '5' })
  const findings = sampleFindings({ steps, causes: [first, second] })
  expect(verdictSentence({ findings, nameOf: () => 'tool search' })).toBe(
    'Step 4 (tool search) made this run fail; step 5 only repeats it; ' +
      'steps 1 and 6 together would have made it fail without that.',
  )
})

const clock = { kind: 'clock', name: 'Date', value: 'Saturday', site: 'agent.ts:31' } as const
const rules = { kind: 'file', name: 'prompts/rules.json', value: 'missing' } as const
const order = { kind: 'order', name: 'order of answers', steps: ['2', '3'] } as const

test.each([
  [[clock], [], 'The clock read at agent.ts:31 (Saturday) made this run fail.'],
  [[rules], [], 'The file prompts/rules.json (missing) made this run fail.'],
  [
    [clock],
    ['4'],
    'Step 4 and the clock read at agent.ts:31 (Saturday) together made this run fail.',
  ],
] as const)('inputs that are not steps are named: %j', (ambient, steps, sentence) => {
  const causes = [{ ...root, steps, ambient: [0] }]
  expect(sentenceOf({ causes, ambient })).toBe(sentence)
})

test('a race is reported as a race', () => {
  const causes = [{ ...root, steps: [], ambient: [0] }]
  expect(sentenceOf({ verdict: 'race', causes, ambient: [order] })).toBe(
    'A race: the order of steps 2 and 3 made this run fail.',
  )
})

test('an empty answer shows dependence, not guilt', () => {
  const steps = withoutEchoes.steps.map((step) => ({ ...step, intervention: 'neutral' as const }))
  const sentence = sentenceOf({ steps, causes: [root] })
  expect(sentence).toBe('The failure depends on step 4: if it says nothing, the run passes.')
  const findings = sampleFindings({
    causes: [root],
    steps: withoutEchoes.steps.map((step) => ({ ...step, intervention: 'field' as const })),
  })
  expect(verdictSentence({ findings, freeOf: () => 'with days 30 instead of 90' })).toBe(
    'The failure depends on step 4: with days 30 instead of 90, the run passes.',
  )
  expect(roleWord({ role: 'root', intervention: 'field' })).toBe('needed')
  expect(roleWord({ role: 'root', intervention: 'live' })).toBe('root')
  expect(roleWord({ role: 'unknown' })).toBe('cannot tell')
  expect(sentence).not.toContain('made this run fail')
})

test('tools that always answer the same are named where no step explains it', () => {
  const steps = withoutEchoes.steps.map((step, index) => ({ ...step, isUnchanged: index === 1 }))
  const findings = sampleFindings({ steps, causes: [], verdict: 'no attributable step' })
  expect(verdictSentence({ findings, nameOf: () => 'tool get_order' })).toMatch(
    /look at the prompt and the code, or at what always answers the same \(tool get_order\)\.$/,
  )
})

test('names of nearly all steps are not listed', () => {
  const steps = withoutEchoes.steps.map((step) => ({ ...step, isUnchanged: true }))
  const findings = sampleFindings({ steps, causes: [], verdict: 'no attributable step' })
  expect(verdictSentence({ findings })).toBe(
    'No step explains this failure: look at the prompt and the code.',
  )
})

test('a repair is shown with its pass rate', () => {
  expect(repairSentence(sampleFindings())).toBe(
    'With steps 2 and 7 asked again, the run passed 8 of 8 times (56–100 %).',
  )
  const rate = { passes: 10, forks: 10, low: 0.66, high: 1 }
  const repair = { steps: [], ambient: [0], pinned: '1–11', rate }
  expect(repairSentence(sampleFindings({ repair, ambient: [rules] }))).toBe(
    'With the file prompts/rules.json (missing) as it is now, the run passed 10 of 10 times (66–100 %).',
  )
  expect(repairSentence({ ...sampleFindings(), repair: { ...repair, rate: NOT_RUN } })).toContain(
    'was not run',
  )
})

test('a repair names how its steps were answered, and the values of a variable', () => {
  const steps = sampleFindings().steps.map((step) => ({
    ...step,
    intervention: 'sibling' as const,
  }))
  expect(repairSentence(sampleFindings({ steps }), () => 'as in run r1, which passed')).toContain(
    'With steps 2 and 7 answered as in run r1, which passed, the run passed 8 of 8 times',
  )
  const mode = { kind: 'environment', name: 'MODE', value: 'strict', now: 'not set' } as const
  const rate = { passes: 4, forks: 4, low: 0.4, high: 1 }
  const repair = { steps: [], ambient: [0], pinned: '', rate }
  expect(repairSentence(sampleFindings({ repair, ambient: [mode] }))).toBe(
    'With MODE not set instead of strict, the run passed 4 of 4 times (40–100 %).',
  )
})

const NOT_RUN = { passes: 0, forks: 0, low: 0, high: 1 }

test('few steps are listed and many are ranges', () => {
  const steps = Array.from({ length: 20 }, (_, index) => ({ label: `${index + 1}` }))
  expect(stepsText(['4'], { steps })).toBe('step 4')
  expect(stepsText(['4', '7', '9'], { steps })).toBe('steps 4, 7 and 9')
  expect(stepsText(['4', '5', '6', '7', '14'], { steps })).toBe('steps 4–7, 14')
})

test('only a named cause has a confidence, and it is never rounded up', () => {
  expect(confidenceText(sampleFindings())).toContain('At least 96 %')
  expect(confidenceText(sampleFindings({ confidence: 0.99996 }))).toContain('At least 99.9 %')
  expect(confidenceText(sampleFindings({ confidence: 1 }))).toContain('At least 100 %')
  expect(confidenceText(sampleFindings({ verdict: 'stopped' }))).toBeUndefined()
})

test('an interval is rounded outwards, within 0 and 100 %', () => {
  expect(intervalText({ low: 0.519, high: 0.991 })).toBe('51–100 %')
  expect(intervalText({ low: -0.2, high: 0.301 })).toBe('0–31 %')
  expect([rateOf(7, 8), rateOf(0, 0)].map(rateText)).toEqual(['7 of 8', 'not tried'])
  expect([rateOf(7, 8), rateOf(0, 0)].map(failuresText)).toEqual(['7 of 8 failed', 'not tried'])
})
