import { describe, expect, test } from 'vitest'
import { blameRun } from './blame-run.js'
import type { Coalition, ForkOutcome, ForkSource } from './fork-source.js'
import { causeIndexes } from './make-findings.js'
import { brokenRun, flakyRun, passingRun, SCENARIOS } from '../scenarios/scenarios.js'
import { randomModel, staircase } from '../../../../bench/planted-models.mjs'

/** Fails when these are kept, always. */
function failsWith(stepCount: number, ...causes: number[][]): ForkSource {
  return answering(stepCount, ({ pinned }) =>
    causes.some((cause) => cause.every((step) => pinned.includes(step))) ? 'fail' : 'pass',
  )
}

function answering(
  stepCount: number,
  outcomeOf: (coalition: Coalition, draw: number) => ForkOutcome,
): ForkSource {
  return {
    stepCount,
    recorded: Array.from({ length: stepCount }, () => 'recorded'),
    ambient: [],
    fork: async (coalition, draw) => ({
      outcome: outcomeOf(coalition, draw),
      values: Array.from({ length: stepCount }, (_, step) =>
        coalition.pinned.includes(step) ? 'recorded' : 'other',
      ),
    }),
  }
}

describe('named steps', () => {
  test('with made-up answers only, the failure depends on a step, which need not be wrong', async () => {
    const interventions = Array.from({ length: 4 }, () => 'field' as const)
    const findings = await blameRun(failsWith(4, [2]), { interventions })
    expect(findings).toMatchObject({ verdict: 'dependence', causes: [{ steps: ['3'] }] })
  })

  test('two steps that fail only together are one joint cause', async () => {
    const findings = await blameRun(failsWith(12, [3, 8]))
    expect(findings.verdict).toBe('attributed')
    expect(findings.causes).toMatchObject([
      { role: 'joint', steps: ['4', '9'], shares: [0.5, 0.5] },
    ])
    expect(findings.steps.map(({ role }) => role).filter((role) => role !== 'clear')).toEqual([
      'joint',
      'joint',
    ])
    expect(findings).toMatchObject({ decisionStep: '4', commitStep: '9', mode: 'free' })
    expect(findings.repair?.steps).toHaveLength(1)
    expect(findings.confidence).toBeGreaterThan(0.98)
  })

  test('a step that would have failed the run, too, is a back-up, and both must be repaired', async () => {
    const findings = await blameRun(failsWith(15, [4], [9, 12]))
    expect(findings.causes.map(({ role, steps }) => [role, steps])).toEqual([
      ['root', ['5']],
      ['back-up', ['10', '13']],
    ])
    expect(findings.repair?.steps).toEqual(['5', '10'])
    expect(findings.steps[4]).toMatchObject({ responsibility: 0.5, isNecessary: true })
    expect(findings.steps[9]).toMatchObject({ responsibility: 0.5, isNecessary: false })
    expect(findings.steps[0]).toMatchObject({ responsibility: 0, role: 'clear' })
  })

  test('causes that share a step are repaired by that step alone', async () => {
    const findings = await blameRun(failsWith(15, [2, 5], [2, 9]))
    expect(causeIndexes(findings)).toEqual([
      [2, 5],
      [2, 9],
    ])
    expect(findings.repair?.steps).toEqual(['3'])
    expect(findings.steps[2]!.responsibility).toBe(1)
    expect(findings.steps[5]!.responsibility).toBe(0.5)
  })

  test('a step that only repeats the cause is an echo, and no back-up', async () => {
    const findings = await blameRun(SCENARIOS['cascade-50'](3))
    const { truth, echoes } = SCENARIOS['cascade-50'](3)
    expect(causeIndexes(findings)).toEqual([truth])
    for (const step of echoes) expect(findings.steps[step]).toMatchObject({ role: 'echo' })
  })

  test('a cause that another waits behind is read with the rest frozen', async () => {
    const model = SCENARIOS['preempted-20'](1)
    const findings = await blameRun(model)
    expect(findings).toMatchObject({ verdict: 'attributed', mode: 'frozen' })
    expect(causeIndexes(findings)[0]).toEqual(model.truth)
  })

  test('steps that undo each other are found by leaving out one at a time', async () => {
    const model = SCENARIOS['parity3-12'](1)
    const findings = await blameRun(model)
    expect(causeIndexes(findings)[0]).toEqual(model.truth)
    expect(findings.causes[0]!.shares.map((share) => share.toFixed(3))).toEqual(
      model.truth.map(() => '0.333'),
    )
    expect(findings.notes.join()).toContain('leaving out one step at a time')
  })

  test('a step that raised the risk is not a cause, but is shown where it was decided', async () => {
    const model = staircase(5)
    const findings = await blameRun(model, { seed: 5 })
    expect(causeIndexes(findings)).toEqual([model.truth])
    expect(findings.decisionStep).toBe(String(model.raisedBy + 1))
    expect(findings.commitStep).toBe(String(model.truth[0]! + 1))
    expect(findings.notes.join()).toContain('raised the risk')
    const curve = findings.riskCurve.map(({ upTo = '0' }) => Number(upTo))
    expect(curve).toEqual(curve.toSorted((a, b) => a - b))
    expect(curve[0]).toBe(0)
  })
})

describe('where nothing can be named', () => {
  test('a run without steps needs no fork', async () => {
    const findings = await blameRun(failsWith(0))
    expect(findings).toMatchObject({ verdict: 'no attributable step', causes: [] })
    expect(findings.forks.asked).toBe(0)
  })

  test('a run that passes ends soon, and free steps are never tried', async () => {
    const findings = await blameRun(passingRun(1))
    expect(findings.verdict).toBe('no attributable step')
    expect(findings.why).toBe(
      'The unchanged run failed in 0 of 16 forks: by this oracle it passes.',
    )
    expect(findings.anchors.free.forks).toBe(0)
  })

  test('a run that fails whatever is pinned has no attributable step', async () => {
    const findings = await blameRun(brokenRun(1))
    expect(findings).toMatchObject({ verdict: 'no attributable step', causes: [], confidence: 0 })
    expect(findings.forks.asked).toBeLessThan(40)
  })

  test('a failure that every fork repeats step by step is deterministic after twelve forks', async () => {
    const source = answering(5, () => 'fail')
    const fork: ForkSource['fork'] = async (coalition, draw) => ({
      ...(await source.fork(coalition, draw)),
      values: source.recorded,
    })
    const findings = await blameRun({ ...source, concurrency: 2, fork })
    expect(findings).toMatchObject({
      verdict: 'no attributable step',
      anchors: { free: { fails: 8 } },
    })
    expect(findings.why).toContain('the same way each time')
    expect(findings.forks.asked).toBeLessThanOrEqual(12)
  })

  test('a failure that ends with the same error is deterministic although a model rewords', async () => {
    const source = answering(5, () => 'fail')
    const fork: ForkSource['fork'] = async (coalition, draw) => ({
      ...(await source.fork(coalition, draw)),
      values: source.recorded.map((_, step) => `words ${draw} ${step}`),
      repeatsError: true,
    })
    const findings = await blameRun({ ...source, fork })
    expect(findings.verdict).toBe('no attributable step')
    expect(findings.forks.asked).toBeLessThanOrEqual(12)
  })

  test('inputs that every fork gets as recorded are named where nothing else was pinned', async () => {
    const findings = await blameRun({ ...answering(3, () => 'fail'), alwaysPinned: ['MODE'] })
    expect(findings.why).toContain('Run again with nothing pinned but MODE, the agent failed')
  })

  test('a run that fails now and then is flaky, with the measured rate', async () => {
    const findings = await blameRun(flakyRun(2))
    const { pinned } = findings.anchors
    expect(findings.verdict).toBe('flaky')
    expect(findings.why).toContain(`${pinned.fails} of ${pinned.forks} forks`)
    expect(pinned.low).toBeLessThan(0.3)
    expect(pinned.high).toBeGreaterThan(0.3)
  })

  test('forks without a verdict are counted and blame no step', async () => {
    const findings = await blameRun(answering(5, () => 'undefined'))
    expect(findings).toMatchObject({ verdict: 'inconclusive', causes: [] })
    expect(findings.why).toContain('no verdict')
    expect(findings.forks.undefined).toBe(findings.forks.asked)
    expect(findings.anchors.pinned.forks).toBe(0)
  })

  test('a coalition that cannot be judged does not end the search', async () => {
    const source = failsWith(12, [3, 8])
    const findings = await blameRun({
      ...source,
      fork: async (coalition, draw) => {
        const fork = await source.fork(coalition, draw)
        return coalition.pinned.length === 6 ? { ...fork, outcome: 'undefined' } : fork
      },
    })
    expect(causeIndexes(findings)).toEqual([[3, 8]])
    expect(findings.forks.undefined).toBeGreaterThan(0)
  })

  test('a run of one step that fails because of it blames that step', async () => {
    const findings = await blameRun(failsWith(1, [0]))
    expect(causeIndexes(findings)).toEqual([[0]])
    expect(findings.forks.asked).toBeLessThan(20)
  })
})

describe('limits', () => {
  test('without a budget nothing is forked', async () => {
    const findings = await blameRun(failsWith(5, [2]), { maxForks: 0 })
    expect(findings).toMatchObject({ verdict: 'stopped', why: 'No forks were allowed.' })
    expect(findings.forks.asked).toBe(0)
    expect(findings.steps.map(({ role }) => role)).toEqual(Array(5).fill('unknown'))
  })

  test('a small budget of forks is never exceeded, and no step is blamed falsely', async () => {
    const model = randomModel(9, 'deterministic')
    const whole = await blameRun(model)
    for (let maxForks = 0; maxForks < whole.forks.asked; maxForks++) {
      const findings = await blameRun(model, { maxForks })
      expect(findings.verdict).toBe('stopped')
      expect(findings.forks.asked).toBe(maxForks)
      for (const steps of causeIndexes(findings).slice(0, 1)) expect(steps).toEqual(model.truth)
    }
    const last = await blameRun(model, { maxForks: whole.forks.asked - 1 })
    expect(causeIndexes(last)[0]).toEqual(model.truth)
  })

  test('forks that were served cost nothing of a budget', async () => {
    const source = failsWith(8, [2])
    const served: ForkSource = {
      ...source,
      fork: async (coalition, draw) => ({
        ...(await source.fork(coalition, draw)),
        isServed: true,
        costUsd: 1,
      }),
    }
    const findings = await blameRun(served, { maxForks: 1, maxUsd: 1 })
    expect(findings.verdict).toBe('attributed')
    expect(findings.forks.served).toBe(findings.forks.asked)
  })

  test('the same is true if several forks run concurrently', async () => {
    const source = failsWith(8, [2])
    const served: ForkSource = {
      ...source,
      concurrency: 4,
      fork: async (coalition, draw) => ({
        ...(await source.fork(coalition, draw)),
        isServed: true,
      }),
    }
    expect((await blameRun(served, { maxForks: 1 })).verdict).toBe('attributed')
  })

  test('with fewer causes allowed than there are, the first is still named', async () => {
    const findings = await blameRun(failsWith(12, [2], [5], [9]), { maxCauses: 1 })
    expect(causeIndexes(findings)).toEqual([[2]])
    expect(findings.notes.join()).toContain('There may be more causes')
    expect(findings.steps[0]!.role).toBe('unknown')
  })

  test('a proven cause is kept if the budget ends before the audit', async () => {
    const { evidence } = await blameRun(failsWith(12, [2]))
    const audit = evidence.findIndex(({ purpose }) => purpose === 'audit')
    const maxForks = evidence.slice(0, audit).reduce((sum, { rate }) => sum + rate.forks, 0)
    const findings = await blameRun(failsWith(12, [2]), { maxForks: maxForks - 1 })
    expect(findings.verdict).toBe('stopped')
    expect(causeIndexes(findings)).toEqual([[2]])
    expect(findings.notes.join()).toContain('the search ended before an audit')
  })

  test('money is not spent beyond the limit', async () => {
    const source = failsWith(8, [2])
    const paid: ForkSource = {
      ...source,
      fork: async (coalition, draw) => ({ ...(await source.fork(coalition, draw)), costUsd: 0.3 }),
    }
    const findings = await blameRun(paid, { maxUsd: 1 })
    expect(findings.verdict).toBe('stopped')
    expect(findings.forks.costUsd).toBeCloseTo(0.9)
  })

  test('a stopped search ends immediately, also during a fork', async () => {
    const stop = new AbortController()
    const source = failsWith(8, [2])
    let forks = 0
    const hanging: ForkSource = {
      ...source,
      fork: (coalition, draw) => {
        if (++forks < 12) return source.fork(coalition, draw)
        stop.abort()
        return new Promise(() => {})
      },
    }
    const findings = await blameRun(hanging, { signal: stop.signal })
    expect(findings).toMatchObject({ verdict: 'stopped', why: 'It was stopped.' })
    expect(findings.forks.asked).toBe(11)
  })

  test('an error of the source is not hidden', async () => {
    const failing: ForkSource = {
      ...failsWith(8, [2]),
      fork: () => Promise.reject(new Error('no process')),
    }
    await expect(blameRun(failing)).rejects.toThrow('no process')
  })

  test('after an error no fork is started, whatever runs concurrently', async () => {
    const model = randomModel(4, 'noisy')
    let forks = 0
    let afterError = 0
    const failing: ForkSource = {
      ...model,
      concurrency: 4,
      fork: async (coalition, draw) => {
        if (++forks > 80) afterError++
        await Promise.resolve()
        if (forks >= 80) throw new Error('no process')
        return model.fork(coalition, draw)
      },
    }
    await expect(blameRun(failing)).rejects.toThrow('no process')
    await new Promise((resolve) => setImmediate(resolve))
    expect(afterError).toBeLessThan(4)
  })
})

describe('how forks are requested', () => {
  test('with two at a time, most forks run beside another one, and hardly more are needed', async () => {
    const run = async (concurrency: number) => {
      // The recorded clock read makes no difference.
      const source = failsWith(7, [2])
      let running = 0
      let alone = 0
      const findings = await blameRun({
        ...source,
        // Makes no difference.
        ambient: [{ kind: 'clock', name: 'now' }],
        concurrency,
        fork: async (coalition, draw) => {
          // The unchanged run needs no process.
          if (coalition.pinned.length === 7 && coalition.ambient.length === 1)
            return source.fork(coalition, draw)
          running += 1
          const before = running
          await new Promise((resolve) => setImmediate(resolve))
          if (before === 1 && running === 1) alone += 1
          const outcome = await source.fork(coalition, draw)
          await new Promise((resolve) => setImmediate(resolve))
          running -= 1
          return outcome
        },
      })
      return { alone, forks: findings.forks.asked, causes: causeIndexes(findings) }
    }
    const one = await run(1)
    const two = await run(2)
    expect(two.causes).toEqual(one.causes)
    expect(two.forks).toBeLessThanOrEqual(one.forks + 2)
    expect(two.alone).toBeLessThanOrEqual(12)
  })

  test('a deterministic source gets each coalition only once', async () => {
    for (let seed = 1; seed <= 100; seed++) {
      const model = randomModel(seed, 'deterministic')
      const asked = new Set<string>()
      const findings = await blameRun({
        ...model,
        isDeterministic: true,
        fork: (coalition, draw) => {
          const key = `${coalition.mode} ${coalition.pinned.join()}`
          expect(asked.has(key)).toBe(false)
          asked.add(key)
          return model.fork(coalition, draw)
        },
      })
      expect(causeIndexes(findings)[0]).toEqual(model.truth)
    }
  })

  test('the same seed requests the same forks in the same order', async () => {
    const questions = async () => {
      const model = randomModel(4, 'noisy')
      const asked: string[] = []
      const fork: ForkSource['fork'] = (coalition, draw) => {
        asked.push(`${coalition.mode} ${coalition.pinned.join()} ${draw}`)
        return model.fork(coalition, draw)
      }
      await blameRun({ ...model, fork }, { seed: 7 })
      return asked
    }
    const asked = await questions()
    expect(await questions()).toEqual(asked)
    expect(new Set(asked).size).toBe(asked.length)
  })

  test('as many forks run concurrently as allowed, and no more', async () => {
    const model = randomModel(4, 'noisy')
    let underWay = 0
    let most = 0
    const findings = await blameRun({
      ...model,
      concurrency: 3,
      fork: async (coalition, draw) => {
        most = Math.max(most, ++underWay)
        await Promise.resolve()
        underWay--
        return model.fork(coalition, draw)
      },
    })
    expect(most).toBe(3)
    expect(causeIndexes(findings)[0]).toEqual(model.truth)
  })

  test('each fork is reported, with an estimate of the rest', async () => {
    const told: number[] = []
    const findings = await blameRun(randomModel(4, 'noisy'), {
      onProgress: ({ forks, remaining, probe }) => {
        told.push(forks)
        expect(remaining).toBeGreaterThan(0)
        expect(probe.rate.forks + probe.undefinedForks).toBeGreaterThan(0)
      },
    })
    expect(told).toEqual(Array.from({ length: findings.forks.asked }, (_, index) => index + 1))
  })

  test('a right prior saves forks, and a wrong one does not change the result', async () => {
    const forks = { none: 0, right: 0 }
    for (let seed = 1; seed <= 40; seed++) {
      const model = randomModel(seed, 'deterministic')
      const prior = (is: (step: number) => boolean) =>
        Array.from({ length: model.stepCount }, (_, step) => (is(step) ? 0.5 : 0.01))
      const right = prior((step) => model.truth.includes(step))
      const wrong = prior((step) => step === model.stepCount - 1)
      forks.none += (await blameRun(model)).forks.asked
      forks.right += (await blameRun(model, { prior: right })).forks.asked
      expect(causeIndexes(await blameRun(model, { prior: wrong }))[0]).toEqual(model.truth)
    }
    expect(forks.right).toBeLessThan(forks.none)
  })
})
