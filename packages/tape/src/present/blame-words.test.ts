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
  [{ causes: [], verdict: 'no attributable step' }, 'No step explains this failure.'],
  [{ causes: [], verdict: 'flaky' }, 'Flaky: no step explains this failure.'],
  [
    { causes: [], verdict: 'inconclusive' },
    'Cannot tell: no step could be proven to cause the failure.',
  ],
  [
    { causes: [root], verdict: 'stopped' },
    'Stopped before a verdict. So far the evidence points to step 4.',
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

const clock = {
  kind: 'clock',
  name: 'Date.now',
  site: 'agent.ts:31',
  value: 'Saturday, 14 Nov 2026 23:10',
} as const

test('inputs that are not steps are named with their place and value', () => {
  const ambient = [clock, { kind: 'file', name: 'rules.json', value: 'missing' } as const]
  const alone = { ...root, steps: [], ambient: [0] }
  expect(sentenceOf({ ambient, causes: [alone] })).toBe(
    'The clock read at agent.ts:31 (Saturday, 14 Nov 2026 23:10) made this run fail.',
  )
  expect(sentenceOf({ ambient, causes: [{ ...root, ambient: [1] }] })).toBe(
    'The file rules.json (missing) and step 4 together made this run fail.',
  )
  const race = { steps: ['2', '3'], text: 'step 3 was answered before step 2.' }
  expect(sentenceOf({ causes: [], verdict: 'race', race })).toBe(
    'A race: step 3 was answered before step 2.',
  )
})

test('an answer that is made up shows dependence and nothing more', () => {
  const steps = withoutEchoes.steps.map((step) => ({ ...step, intervention: 'field' as const }))
  const findings = sampleFindings({ steps, causes: [root] })
  expect(verdictSentence({ findings })).toBe(
    'The failure depends on step 4: with another value in its answer, the run passes.',
  )
  expect(findings.steps.map(roleWord)).not.toContain('root')
  expect(roleWord({ role: 'root', intervention: 'field' })).toBe('needed')
  expect(roleWord({ role: 'root', intervention: 'live' })).toBe('root')
  expect(roleWord({ role: 'unknown' })).toBe('cannot tell')
  expect(verdictSentence({ findings, freeOf: () => 'with days 30 instead of 90' })).toBe(
    'The failure depends on step 4: with days 30 instead of 90, the run passes.',
  )
})

test('a repair is what was run, with how often it passed', () => {
  const rate = { passes: 8, forks: 8, low: 0.56, high: 1 }
  const repair = { steps: ['4'], pinned: '1–3', rate }
  expect(repairSentence(sampleFindings({ repair }))).toBe(
    'If step 4 had answered otherwise, the run would have passed 8 of 8 times (56–100 %).',
  )
  const untried = { ...repair, rate: { passes: 0, forks: 0, low: 0, high: 1 } }
  expect(repairSentence(sampleFindings({ repair: untried }))).toContain('not tried')
})

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
