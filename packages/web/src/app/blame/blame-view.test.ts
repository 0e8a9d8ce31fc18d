import { expect, test } from 'vitest'
import {
  findingsFile,
  rateOf,
  sampleFindings,
  stepIn,
} from '../../../../../test/support/blame-findings.js'
import { readRunBlame } from '@retake/tape'
import {
  BlameView,
  blameViewOf,
  evidenceGroups,
  riskPath,
  riskPoints,
  riskScale,
} from './blame-view.js'

const indexOf = (label: string): number => Number(label) - 1

test('points are in the order of the steps, without untested ones', () => {
  const curve = [
    { upTo: '5', rate: rateOf(3, 3) },
    { rate: rateOf(0, 3) },
    { upTo: '3', rate: rateOf(0, 0) },
  ]
  expect(riskPoints(curve, indexOf).map(({ index }) => index)).toEqual([-1, 4])
})

test('the line rises at a tested point, not on the way to it', () => {
  const scale = riskScale(262, 10)
  const points = riskPoints([{ rate: rateOf(0, 3) }, { upTo: '5', rate: rateOf(3, 3) }], indexOf)
  const [start, end] = [scale.y(0), scale.y(1)]
  expect(riskPath(points, scale)).toBe(`M48 ${start}H148V${end}`)
  expect(end).toBeLessThan(start)
})

test('the sentence names what the steps of a cause did, and counts are those of the run', () => {
  const causes = [{ role: 'root', steps: ['5'], sufficiency: rateOf(6, 6), shares: [1] } as const]
  const findings = sampleFindings({
    causes,
    steps: [stepIn('4', 'clear'), stepIn('4.1', 'clear'), stepIn('5', 'root')],
  })
  const file = findingsFile('r', findings)
  const steps = [
    { label: '4', kind: 'model' },
    { label: '4.1', kind: 'tool', isInferred: true },
    { label: '5', kind: 'tool', did: 'search_policy with query "refund window"' },
  ]
  const view = new BlameView(readRunBlame({ ...file, steps }, 'r'))
  expect(view.sentence).toBe(
    'Step 5 (search_policy with query "refund window") made this run fail.',
  )
  expect(view.counts).toEqual({ steps: 2, inferred: 1 })
  const older = new BlameView(readRunBlame({ ...file, steps: undefined }, 'r'))
  expect(older.sentence).toBe('Step 5 made this run fail.')
})

test('a rate outside of 0 and 1 stays on the drawing', () => {
  const scale = riskScale(200, 0)
  expect(scale.y(7)).toBe(scale.y(1))
  expect(scale.x(-1)).toBe(scale.left)
})

const blameOf = (changes = {}) =>
  readRunBlame(JSON.parse(JSON.stringify(findingsFile('r', sampleFindings(changes)))), 'r')

const view = new BlameView(blameOf())

test('steps are found by their labels, with their role', () => {
  expect(view.step('2')?.role).toBe('joint')
  expect(view.step('7')).toMatchObject({ role: 'back-up', responsibility: 0.5 })
  expect(view.step('12')?.role).toBeUndefined()
})

test('steps of causes come first, then echoes, affected and innocent ones', () => {
  expect(view.ranked.map((index) => view.labelOf(index))).toEqual([
    '2',
    '5',
    '7',
    '9',
    '10',
    '1',
    '3',
    '4',
    '6',
    '8',
    '11',
  ])
  const steps = [
    stepIn('1', 'clear', { alone: { fails: 1, forks: 4, low: 0, high: 1 } }),
    stepIn('2', 'unknown'),
    stepIn('3', 'clear', { alone: { fails: 2, forks: 4, low: 0, high: 1 } }),
  ]
  const empty = { steps, causes: [], repair: undefined, riskCurve: [], decisionStep: undefined }
  const other = new BlameView(blameOf({ ...empty, commitStep: undefined }))
  expect(other.ranked).toEqual([1, 2, 0])
})

test('one goes from cause to cause, the first one first, and around', () => {
  expect(view.nextCause(undefined, 1)).toBe('2')
  expect(view.nextCause('9', 1)).toBe('2')
  expect(view.nextCause('2', 1)).toBe('5')
  expect(view.nextCause('7', 1)).toBe('2')
  expect(view.nextCause('2', -1)).toBe('7')
  expect(view.nextCause('11', -1)).toBe('7')
  const none = new BlameView(blameOf({ causes: [] }))
  expect(none.nextCause('2', 1)).toBeUndefined()
})

test.each([
  ['', 'nothing'],
  ['1–11', 'everything'],
  ['1–5, 7', '1–5, 7'],
])('the pinned steps, %j, are described in words', (pinned, text) => {
  expect(view.pinnedText(pinned)).toBe(text)
})

test('evidence is grouped by purpose, in the order of requests', () => {
  const groups = evidenceGroups(view.findings.evidence)
  expect(groups.map(({ purpose, probes, forks }) => [purpose, probes.length, forks])).toEqual([
    ['anchor', 2, 24],
    ['prefix', 2, 20],
    ['cause', 1, 12],
    ['minimal', 1, 8],
    ['echo', 1, 8],
    ['back-up', 1, 8],
    ['audit', 1, 4],
  ])
})

test('the same findings give the same view', () => {
  const blame = blameOf()
  expect(blameViewOf(blame)).toBe(blameViewOf(blame))
})
