import type { BlameFindings } from '@retake/tape'
import { expect, test } from 'vitest'
import { findingsFile, rateOf, sampleFindings } from '../../../../../test/support/blame-findings.js'
import { readRunBlame } from '../../model/read-run-blame.js'
import {
  confidenceText,
  intervalText,
  rateText,
  spentFacts,
  verdictSentence,
} from './blame-words.js'
import { BlameView } from './blame-view.js'

const viewOf = (changes: Partial<BlameFindings>): BlameView =>
  new BlameView(readRunBlame(findingsFile('r', sampleFindings(changes)), 'r'))

const root = { role: 'root', steps: [3], sufficiency: rateOf(4, 4), shares: [1] } as const

test.each([
  [{}, 'Steps 2 and 5 together made this run fail: each of them is needed for it.'],
  [{ causes: [root] }, 'Step 4 made this run fail.'],
  [
    { causes: [], verdict: 'no attributable step' },
    'No step can be blamed: it fails as often whatever is kept.',
  ],
  [
    { causes: [], verdict: 'flaky' },
    'The unchanged run does not fail every time, and no step explains it.',
  ],
  [{ causes: [], verdict: 'inconclusive' }, 'There were not enough forks to tell.'],
  [
    { causes: [root], verdict: 'stopped' },
    'The search was stopped before it came to a verdict. So far it points to step 4.',
  ],
  [{ causes: [] }, 'The failure was attributed, but no cause is named.'],
] as const)('the verdict of %j is a sentence', (changes, sentence) => {
  expect(verdictSentence(viewOf(changes))).toBe(sentence)
})

test('only a cause that is named for sure comes with how sure that is, never rounded up', () => {
  expect(confidenceText(sampleFindings())).toContain('At least 96 %')
  expect(confidenceText(sampleFindings({ confidence: 0.99996 }))).toContain('At least 99.9 %')
  expect(confidenceText(sampleFindings({ confidence: 1 }))).toContain('At least 100 %')
  expect(confidenceText(sampleFindings({ verdict: 'stopped' }))).toBeUndefined()
})

test('an interval is rounded outwards, and never leaves 0 to 100 %', () => {
  expect(intervalText({ fails: 7, forks: 8, low: 0.519, high: 0.991 })).toBe('51–100 %')
  expect(intervalText({ fails: 0, forks: 8, low: -0.2, high: 0.301 })).toBe('0–31 %')
  expect(rateText(rateOf(0, 0))).toBe('not tried')
})

test('tokens and money that nobody knows are unknown, not 0', () => {
  const forks = { asked: 1, served: 0, undefined: 0, liveSteps: 3 }
  expect(spentFacts(sampleFindings({ forks }))).toEqual([
    '1 fork asked',
    '3 steps run again',
    'tokens unknown',
    'cost unknown',
  ])
})
