import type { BlameFindings } from './blame-findings.js'
import { expect, test } from 'vitest'
import { findingsFile, sampleFindings } from '../../../../test/support/blame-findings.js'
import { readRunBlame } from './run-blame.js'

const wrong = (change: object): unknown => ({ ...findingsFile('r'), ...change })
const wrongFindings = (change: object): unknown =>
  wrong({ findings: sampleFindings(change as Partial<BlameFindings>) })

test('findings are read as written, without other fields of the file', () => {
  const written = JSON.parse(JSON.stringify({ ...findingsFile('r'), later: 'x' })) as object
  const blame = readRunBlame(written, 'r')
  expect(blame.findings).toEqual(sampleFindings())
  expect(blame).toMatchObject({ oracle: 'text: Booked for tomorrow', facts: { newForks: 80 } })
  expect(blame.facts.undefinedBy).toEqual([
    { reason: 'the agent exited before it printed anything', count: 2 },
  ])
  expect(blame).not.toHaveProperty('later')
})

test('optional fields may be missing', () => {
  const { decisionStep: _d, commitStep: _c, ...findings } = sampleFindings({ causes: [] })
  const blame = readRunBlame(wrong({ findings, facts: undefined }), 'r')
  expect(blame.findings.commitStep).toBeUndefined()
  expect(blame.facts).toEqual({ undefinedBy: [], free: [] })
})

test('a number that was not finite is unknown', () => {
  const { forks } = sampleFindings()
  const findings = sampleFindings({ forks: { ...forks, tokens: Number.NaN } })
  const blame = readRunBlame(JSON.parse(JSON.stringify(wrong({ findings }))), 'r')
  expect(blame.findings.forks.tokens).toBeUndefined()
})

test.each([
  ['no object', [], 'It contains no findings'],
  ['a newer file', wrong({ version: 2 }), 'It was written by a newer version of Retake (form 2)'],
  ['newer findings', wrongFindings({ version: 7 }), 'findings are of a newer version'],
  ['older findings', wrongFindings({ version: 1 }), 'findings are of an older version'],
  ['another run', wrong({ run: 's' }), 'It belongs to another run'],
  ['no findings', wrong({ findings: 3 }), 'It contains no findings'],
])('a file with %s is refused in words', (_what, value, why) => {
  expect(() => readRunBlame(value, 'r')).toThrow(why)
})
