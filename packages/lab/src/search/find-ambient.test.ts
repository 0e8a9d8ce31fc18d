import { expect, test } from 'vitest'
import { CERTAIN, type Structure, structuralModel } from '../scenarios/planted-model.js'
import { blameRun } from './blame-run.js'

const clock = { kind: 'clock', name: 'Date', faultRate: 0 } as const
const random = { kind: 'random', name: 'Math.random', faultRate: 0.3 } as const
const file = { kind: 'file', name: 'rules.json', faultRate: 0 } as const

/** Eight steps, three inputs; fails as `isFaulted` says. */
function world(changes: Partial<Structure>) {
  const structure: Structure = {
    name: 'world',
    stepCount: 8,
    faulty: [],
    ambient: [file, clock, random],
    isFaulted: () => false,
    levels: CERTAIN,
    truth: [],
    ...changes,
  }
  return structuralModel(structure, 7)
}

test('an input that is not a step is named alone', async () => {
  const model = world({ isFaulted: (_, [, isSaturday]) => isSaturday === 1 })
  const found = await blameRun(model)
  expect(found.verdict).toBe('attributed')
  expect(found.causes).toMatchObject([{ role: 'root', steps: [], ambient: [1] }])
  expect(new Set(found.steps.map(({ role }) => role))).toEqual(new Set(['clear']))
  expect(found.repair).toMatchObject({ steps: [], ambient: [1] })
  expect(found.repair?.rate.passes).toBe(found.repair?.rate.forks)
  expect(found.confidence).toBeGreaterThan(0.98)
})

test('steps stay pinned while inputs are distinguished, so that few steps run live', async () => {
  const model = world({ isFaulted: (_, [, isSaturday]) => isSaturday === 1 })
  const { evidence } = await blameRun(model)
  const live = evidence.filter(({ pinned }) => pinned === '')
  expect(live.reduce((sum, { rate }) => sum + rate.forks, 0)).toBeLessThanOrEqual(12)
})

test('a random value is named although it often comes again', async () => {
  const found = await blameRun(world({ isFaulted: (_, [, , isEmpty]) => isEmpty === 1 }))
  expect(found.causes).toMatchObject([{ steps: [], ambient: [2] }])
})

test('a step and an input that fail only together are one joint cause', async () => {
  const model = world({
    faulty: [3],
    isFaulted: (values, [isMissing]) => values[3] === 1 && isMissing === 1,
  })
  const found = await blameRun(model)
  expect(found.causes).toMatchObject([{ role: 'joint', steps: ['4'], ambient: [0] }])
  expect(found.steps[3]).toMatchObject({ role: 'joint', isNecessary: true })
})

test('a step that only repeats the clock is not a cause', async () => {
  for (const isReworded of [false, true]) {
    const model = world({
      faulty: [5],
      free: (step, _values, _random, [, isSaturday]) => (step === 5 ? isSaturday! : 0),
      isFaulted: (values) => values[5] === 1,
      isReworded,
    })
    const found = await blameRun(model)
    expect(found.causes).toMatchObject([{ steps: [], ambient: [1] }])
    expect(found.steps[5]?.role).toBe('echo')
  }
})

test('a step that repeats a joint cause of a step and an input is not a cause', async () => {
  const model = world({
    faulty: [2, 6],
    free: (step, values, _random, [isMissing]) => (step === 6 && values[2] === 1 ? isMissing! : 0),
    isFaulted: (values, [isMissing]) => values[6] === 1 || (values[2] === 1 && isMissing === 1),
  })
  const found = await blameRun(model)
  expect(found.causes).toMatchObject([{ steps: ['3'], ambient: [0] }])
})

test('steps 1 to k that are harmless alone are not blamed for the clock between k and k + 1', async () => {
  // As forks were before they left the tape at its start: inputs live from the first free step on.
  const model = world({ isFaulted: (_, [, isSaturday]) => isSaturday === 1 })
  const found = await blameRun(model)
  expect(found.causes.flatMap(({ steps }) => steps)).toEqual([])
})

test('inputs that do not matter change nothing', async () => {
  const found = await blameRun(world({ faulty: [2], isFaulted: (values) => values[2] === 1 }))
  expect(found.causes).toMatchObject([{ role: 'root', steps: ['3'] }])
  expect(found.causes[0]).not.toHaveProperty('ambient')
  expect(found.anchors.ambientFree?.fails).toBe(found.anchors.ambientFree?.forks)
})

test('the order of two answers is called a race', async () => {
  const order = { kind: 'order', name: 'order', steps: ['2', '3'], faultRate: 0.4 } as const
  const model = world({ ambient: [clock, order], isFaulted: (_, inputs) => inputs[1] === 1 })
  const found = await blameRun(model)
  expect(found.verdict).toBe('race')
  expect(found.race).toMatchObject({ steps: ['2', '3'] })
  expect(found.steps.map(({ role }) => role)).not.toContain('root')
})
