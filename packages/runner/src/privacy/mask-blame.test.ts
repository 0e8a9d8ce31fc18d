import { readRunBlame } from '@retake/tape'
import { expect, test } from 'vitest'
import { findingsFile, sampleFindings, stepIn } from '../../../../test/support/blame-findings.js'
import { Mask } from './mask.js'
import { maskFindings } from './mask-states.js'
import { readPatterns } from '@retake/engine/runs'

test('every text in findings is masked, and no number, role or label of a step', () => {
  const said = 'it said 41'
  const steps = sampleFindings().steps.with(10, stepIn('41', 'clear'))
  const evidence = [{ ...sampleFindings().evidence[0]!, pinned: said }]
  const ambient = [{ kind: 'file', name: said, value: said, site: said }] as const
  const riskCurve = [{ upTo: '41', rate: sampleFindings().anchors.free }]
  const findings = sampleFindings({
    steps,
    evidence,
    ambient,
    riskCurve,
    why: said,
    notes: [said, 'clear'],
    race: { steps: ['41'], text: said },
  })
  const file = findingsFile('r', findings) as { facts: object }
  const facts = { ...file.facts, undefinedBy: { [said]: 41 }, free: [said], wallMs: 41_000_041 }
  const blame = readRunBlame({ ...file, oracle: said, facts, at: 4_141_414_141 }, 'r')
  const masked = maskFindings(blame, new Mask(readPatterns(['said 41|clear|4[0-9]'])))
  const hidden = 'it *******'
  expect(masked.oracle).toBe(hidden)
  expect(masked.findings.why).toBe(hidden)
  expect(masked.findings.notes).toEqual([hidden, '*****'])
  expect(masked.findings.evidence[0]?.pinned).toBe(hidden)
  expect(masked.facts.undefinedBy).toEqual([{ reason: hidden, count: 41 }])
  expect(masked.findings.ambient).toEqual([
    { kind: 'file', name: hidden, value: hidden, site: hidden },
  ])
  expect(masked.findings.race).toEqual({ steps: ['41'], text: hidden })
  expect(masked.findings.riskCurve).toEqual(riskCurve)
  expect(masked.facts.free).toEqual([hidden])
  expect(masked.findings.steps).toEqual(steps)
  expect([masked.at, masked.facts.wallMs]).toEqual([4_141_414_141, 41_000_041])
})
