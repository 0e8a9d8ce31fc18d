import type { BlameFindings } from '@retake/tape'
import { expect, test } from 'vitest'
import { findingsFile, rateOf, sampleFindings } from '../../../../test/support/blame-findings.js'
import { readRunBlame } from './run-blame.js'

const wrong = (change: object): unknown => ({ ...findingsFile('r'), ...change })
const wrongFindings = (change: object): unknown =>
  wrong({ findings: sampleFindings(change as Partial<BlameFindings>) })

test('findings are read as written, without unknown fields', () => {
  const written = JSON.parse(JSON.stringify({ ...findingsFile('r'), later: 'x' })) as object
  const blame = readRunBlame(written, 'r')
  expect(blame.findings).toEqual(sampleFindings())
  expect(blame).toMatchObject({ oracle: 'text: Booked for tomorrow', facts: { newForks: 80 } })
  expect(blame.facts.undefinedBy).toEqual([
    { reason: 'the agent exited before it printed anything', count: 2 },
  ])
  expect(blame).not.toHaveProperty('later')
})

test('findings of version 1 are read in labels', () => {
  const current = sampleFindings()
  const { ambient: _a, repair: _r, ...rest } = current
  const old = {
    ...rest,
    version: 1,
    causes: [{ ...current.causes[0], steps: [1, 4] }],
    minimalRepair: [1, 6],
    decisionStep: 1,
    commitStep: 4,
    anchors: { kept: rateOf(12, 12), free: rateOf(0, 12) },
    riskCurve: [
      { upTo: -1, rate: rateOf(0, 12) },
      { upTo: 4, rate: rateOf(11, 11) },
    ],
    evidence: [
      {
        purpose: 'audit',
        mode: 'free',
        kept: '0,2-3,6,8-10',
        rate: rateOf(3, 4),
        undefinedForks: 0,
      },
      { purpose: 'audit', mode: 'free', kept: '0-11', rate: rateOf(3, 4), undefinedForks: 0 },
    ],
  }
  const { findings } = readRunBlame(wrong({ findings: old }), 'r')
  expect(findings).toMatchObject({
    version: 2,
    ambient: [],
    causes: [{ steps: ['2', '5'] }],
    repair: { steps: ['2', '7'], rate: { forks: 0 } },
    decisionStep: '2',
    commitStep: '5',
    anchors: { pinned: { fails: 12 } },
  })
  expect(findings.riskCurve.map(({ upTo }) => upTo)).toEqual([undefined, '5'])
  expect(findings.evidence.map(({ pinned }) => pinned)).toEqual(['1, 3–4, 7, 9–11', '0-11'])
})

test('optional fields may be missing', () => {
  const { decisionStep: _d, commitStep: _c, ...findings } = sampleFindings({ causes: [] })
  const blame = readRunBlame(wrong({ findings, facts: undefined }), 'r')
  expect(blame.findings.commitStep).toBeUndefined()
  expect(blame.facts).toEqual({ undefinedBy: [], free: [] })
})

test.each([
  ['no object', [], 'It is not an object'],
  ['a newer file', wrong({ version: 2 }), 'It was written by a newer version of Retake (form 2)'],
  ['newer findings', wrongFindings({ version: 7 }), 'findings are of a newer version'],
  ['another run', wrong({ run: 's' }), 'It belongs to another run'],
  ['no findings', wrong({ findings: 3 }), 'findings is not an object'],
  [
    'a role',
    wrongFindings({ steps: [{ label: '1', role: 'guilty' }] }),
    'steps[0].role is not one of',
  ],
  ['a place', wrongFindings({ decisionStep: '12' }), 'decisionStep is not one of 11 steps'],
  ['a rate', wrongFindings({ anchors: { pinned: null } }), 'anchors.pinned is not an object'],
  ['a prototype', wrongFindings({ verdict: '__proto__' }), 'verdict is not one of'],
])('a wrong %s is described in words', (_what, value, why) => {
  expect(() => readRunBlame(value, 'r')).toThrow(why)
})
