import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../search/seeded-random.js'
import { RunScript } from '../../../tape/test-support/run-script.js'
import type { Attempt } from './uses.js'
import type { FixCandidate, FixContext } from './candidates.js'
import type { Loss } from './losses.js'
import {
  type CorpusResult,
  FixProof,
  type FixResult,
  type FixTrial,
  type Probe,
  type ProveOptions,
  type Form,
  type TrialSource,
} from './prove-fixes.js'

/**
 * A world whose truth is known: how often the failing run passes with each candidate and
 * without any. A rate of 0 or 1 with `live: 0` is a run that is served from its tape.
 */
interface World {
  readonly control: number
  /** Pass rate without a fix if the steps from here on are live. */
  readonly controlLive?: number
  /** Pass rate without a fix if nothing comes from the tape. */
  readonly unpinned?: number
  readonly fixes: readonly PlantedFix[]
  readonly live?: number
  readonly siblings?: Readonly<Record<string, { readonly control: number }>>
}

interface PlantedFix {
  readonly rate: number
  readonly liveFrom?: string
  readonly live?: number
  readonly siblings?: number
  readonly opposites?: number
  readonly placebo?: number
  readonly corpus?: readonly CorpusResult['result'][]
  readonly broke?: string
  readonly refused?: string
  readonly servedTools?: readonly string[]
  readonly costUsd?: number
  readonly pinnedToChanged?: number
  /** Pass rate on variants of the run; missing if it has none. */
  readonly probes?: number
  readonly losses?: readonly Loss[]
  readonly attempts?: readonly Attempt[]
}

const PROBE: Probe = { id: 'p', changes: [{ from: 'c9', to: 'c4' }] }

const candidate = (index: number, more: Partial<FixCandidate> = {}): FixCandidate => ({
  id: `fix-${index}`,
  operator: 'repair-json',
  layer: 'transport',
  title: `Fix ${index}`,
  why: 'planted',
  steps: ['1'],
  edits: [{ path: 'agent.ts', before: 'a\n', after: 'b\n' }],
  author: 'rule',
  ...more,
})

const context = (): FixContext => ({
  run: new RunScript().end(1).view(),
  symptoms: [],
  sources: [],
})

class PlantedTrials implements TrialSource {
  readonly #world: World
  readonly #random: () => number
  readonly controlsFrom = new Set<string | undefined>()

  constructor(world: World, seed = 1) {
    this.#world = world
    this.#random = seededRandom(seed)
  }

  get candidates(): FixCandidate[] {
    return this.#world.fixes.map(({ placebo }, index) =>
      candidate(
        index,
        placebo === undefined ? {} : { placebo: candidate(index, { id: `placebo-${index}` }) },
      ),
    )
  }

  async failing(
    given: FixCandidate | undefined,
    _index: number,
    liveFrom?: string,
  ): Promise<FixTrial> {
    const { control, controlLive = control, live = 0 } = this.#world
    if (given === undefined) {
      this.controlsFrom.add(liveFrom)
      const isLive = liveFrom !== undefined
      return this.#trial(isLive ? controlLive : control, isLive ? 1 : live)
    }
    const fix = this.#fixOf(given)
    const rate = given.id.startsWith('placebo') ? fix.placebo! : fix.rate
    return { ...this.#trial(rate, fix.live ?? live), ...extras(fix) }
  }

  async sibling(given: FixCandidate | undefined, tape: string): Promise<FixTrial> {
    const { control = 0 } = this.#world.siblings?.[tape] ?? {}
    return this.#trial(given === undefined ? control : (this.#fixOf(given).siblings ?? 1), 0)
  }

  async probes(): Promise<readonly Probe[]> {
    return this.#world.fixes.some(({ probes }) => probes !== undefined) ? [PROBE] : []
  }

  async forms(): Promise<readonly Form[]> {
    return []
  }

  async probe(given: FixCandidate | undefined, _probe: Probe): Promise<FixTrial> {
    return this.#trial(given === undefined ? 0 : (this.#fixOf(given).probes ?? 1), 0)
  }

  async opposite(given: FixCandidate): Promise<FixTrial> {
    return this.#trial(this.#fixOf(given).opposites ?? 1, 0)
  }

  async unpinned(): Promise<FixTrial> {
    const { control, unpinned = control } = this.#world
    return this.#trial(unpinned, 1)
  }

  async further(_base: FixCandidate): Promise<readonly FixCandidate[]> {
    return []
  }

  async corpus(given: FixCandidate): Promise<readonly CorpusResult[]> {
    return (this.#fixOf(given).corpus ?? []).map((result, index) => ({
      tape: `passing-${index}`,
      result,
    }))
  }

  #fixOf({ id }: FixCandidate): PlantedFix {
    return this.#world.fixes[Number(id.split('-')[1])]!
  }

  #trial(rate: number, live: number): FixTrial {
    const passes = this.#random() < rate
    return {
      verdict: passes ? 'pass' : 'fail',
      reason: passes ? 'as expected' : 'the answer is wrong',
      live,
      pinnedToChanged: 0,
      ms: 10,
    }
  }
}

const extras = ({
  liveFrom,
  broke,
  refused,
  costUsd,
  pinnedToChanged,
  servedTools,
  losses,
  attempts,
}: PlantedFix): Partial<FixTrial> => ({
  ...(losses && { losses }),
  ...(attempts && { attempts }),
  ...(liveFrom !== undefined && { liveFrom }),
  ...(costUsd !== undefined && { costUsd }),
  ...(pinnedToChanged !== undefined && { pinnedToChanged }),
  ...(servedTools !== undefined && { servedTools }),
  ...(broke !== undefined && { broke, verdict: 'undefined' as const }),
  ...(refused !== undefined && { refused, verdict: 'undefined' as const }),
})

const prove = async (world: World, options: ProveOptions = {}, seed = 1): Promise<FixResult> => {
  const trials = new PlantedTrials(world, seed)
  return proveAll(trials.candidates, trials, options)
}

async function proveAll(
  candidates: readonly FixCandidate[],
  source: TrialSource,
  options?: ProveOptions,
): Promise<FixResult> {
  const proof = new FixProof(context(), source, options)
  await proof.prove(candidates)
  await proof.measureFlakiness()
  return proof.result
}

const statuses = ({ fixes }: FixResult): string[] => fixes.map(({ verdict }) => verdict.status)

describe('a run that is served from its tape', () => {
  test('needs one run and one confirmation, and one more without the fix', async () => {
    const result = await prove({ control: 0, fixes: [{ rate: 1 }] })
    expect(result).toMatchObject({
      status: 'repaired',
      reproduced: { trials: 3, failed: 3 },
      forks: 5,
      tried: 1,
    })
    const [fix] = result.fixes
    expect(fix?.evidence).toMatchObject({
      fixed: { trials: 2, passed: 2, low: 1 },
      control: { passed: 0 },
      ablated: { trials: 1, passed: 0 },
      isExact: true,
    })
  })

  test('is not fixed by a candidate that changes nothing, after one trial and five with new answers', async () => {
    const result = await prove({ control: 0, fixes: [{ rate: 0 }] })
    expect(result).toMatchObject({ status: 'not-fixed', forks: 8 })
    expect(result.fixes[0]?.verdict).toEqual({
      status: 'rejected',
      reason: 'The run still fails with the fix: the answer is wrong',
    })
  })

  test('shows nothing about code that only a served tool calls', async () => {
    const result = await prove({ control: 0, fixes: [{ rate: 0, servedTools: ['price_of'] }] })
    expect(result).toMatchObject({ status: 'not-fixed' })
    expect(result.fixes[0]?.verdict).toEqual({
      status: 'undecided',
      reason:
        'With it, the run is the same as before. Code that only price_of calls did not run, because the tape answered.',
    })
  })

  test('is not reproduced if it passes without a fix', async () => {
    const result = await prove({ control: 1, fixes: [{ rate: 1 }] })
    expect(result).toMatchObject({ status: 'not-reproduced', tried: 0, fixes: [] })
    expect(result.reason).toContain('2 of 2')
  })

  test('cannot be forked if no run reaches a verdict', async () => {
    const source: TrialSource = {
      failing: async () => ({
        verdict: 'undefined',
        reason: 'the program is gone',
        live: 0,
        pinnedToChanged: 0,
        ms: 1,
      }),
      sibling: async () => {
        throw new Error('not reached')
      },
      opposite: async () => {
        throw new Error('not reached')
      },
      unpinned: async () => {
        throw new Error('not reached')
      },
      corpus: async () => {
        throw new Error('not reached')
      },
      probes: async () => {
        throw new Error('not reached')
      },
      probe: async () => {
        throw new Error('not reached')
      },
      forms: async () => {
        throw new Error('not reached')
      },
      further: async () => {
        throw new Error('not reached')
      },
    }
    const result = await proveAll([candidate(0)], source)
    expect(result).toMatchObject({
      status: 'not-forkable',
      reason: 'No run came to a verdict: the program is gone',
    })
  })
})

/** Two faults in one file: `A` throws, and `B` prints `undefined`. */
describe('several faults', () => {
  const before = 'print(A)\n\nprint(B)\n'
  const edit = (text: string): FixCandidate['edits'] => [{ path: 'a.mjs', before, after: text }]
  const first = candidate(0, { id: 'A', title: 'Repair A', edits: edit(before.replace('A', 'a')) })
  const second = candidate(1, { id: 'B', title: 'Repair B', edits: edit(before.replace('B', 'b')) })
  const empty: Loss = { code: 'EMPTY_PRINTED', value: 'undefined', line: 'undefined' }

  /** Says of each change how far the run comes. */
  class FaultyRun extends PlantedTrials {
    readonly tried: string[] = []

    constructor(
      readonly passesWithLoss = false,
      readonly proposed: Readonly<Record<string, FixCandidate>> = {},
    ) {
      super({ control: 0, fixes: [] })
    }

    override async further({ id }: FixCandidate): Promise<readonly FixCandidate[]> {
      return [this.proposed[id] ?? []].flat()
    }

    override async failing(given: FixCandidate | undefined): Promise<FixTrial> {
      const text = given?.edits[0]?.after ?? before
      this.tried.push(text)
      const isThrown = text.includes('A')
      const isEmpty = text.includes('B')
      const passes = !isThrown && (!isEmpty || this.passesWithLoss)
      return {
        verdict: passes ? 'pass' : 'fail',
        reason: 'planted',
        live: 0,
        pinnedToChanged: 0,
        ms: 1,
        ...(passes && isEmpty && { losses: [empty] }),
        progress: isThrown
          ? { steps: 1, lines: 0, empty: 0, error: { text: 'TypeError' } }
          : { steps: 1, lines: 2, empty: isEmpty ? 1 : 0 },
      }
    }

    override async corpus(): Promise<readonly CorpusResult[]> {
      return []
    }
  }

  test.each([false, true])(
    'are repaired together, also if one repair alone makes the run pass: %s',
    async (passesWithLoss) => {
      const result = await proveAll([second, first], new FaultyRun(passesWithLoss))
      expect(result).toMatchObject({ status: 'repaired', tried: 3 })
      expect(result.fixes[0]?.candidate).toMatchObject({
        title: 'Repair A, and repair B',
        edits: edit('print(a)\n\nprint(b)\n'),
      })
      expect(result.fixes[0]?.evidence.losses).toEqual([])
    },
  )

  test('are repaired by what is proposed for the run with the first repair', async () => {
    const proposed = { A: candidate(2, { edits: edit('print(a)\n\nprint(b)\n') }) }
    const source = new FaultyRun(false, proposed)
    const result = await proveAll([first], source)
    expect(result).toMatchObject({ status: 'repaired', tried: 2 })
  })

  test('are not guessed: a change with which the run comes no further is not combined', async () => {
    const other = { ...first, id: 'C', edits: edit(before.replace('print(A)', 'print(A, 1)')) }
    const source = new FaultyRun()
    const result = await proveAll([second, other], source)
    expect(result).toMatchObject({ status: 'not-fixed', tried: 2 })
    expect(source.tried).not.toContain('print(A, 1)\n\nprint(b)\n')
  })

  test('cost at most eight combinations', async () => {
    const many = Array.from({ length: 20 }, (_, index) =>
      candidate(index, { edits: edit(`${before}// ${index}\n`), id: `n${index}` }),
    )
    const result = await proveAll([first, ...many], new FaultyRun())
    expect(result).toMatchObject({ status: 'not-fixed', tried: 29 })
  })

  test('are counted in trials like every candidate', async () => {
    const result = await proveAll([second, first], new FaultyRun())
    // Two without a fix, one with each, two with both, and one more without a fix.
    expect(result.forks).toBe(7)
  })
})

describe('a fix is rejected', () => {
  const sibling = { siblings: { a: { control: 0 }, b: { control: 0 } } }
  const both = { siblings: ['a', 'b'] }

  test('if it only fits the failing input', async () => {
    const result = await prove({ control: 0, fixes: [{ rate: 1, siblings: 0 }], ...sibling }, both)
    expect(result.fixes[0]?.verdict.reason).toContain('none of 2 other failing runs')
    expect(result.status).toBe('not-fixed')
  })

  test('if it flips a run with the opposite expected outcome', async () => {
    const result = await prove(
      { control: 0, fixes: [{ rate: 1, opposites: 0 }] },
      { opposites: ['deny'] },
    )
    expect(result.fixes[0]?.verdict.reason).toContain('deny')
    expect(statuses(result)).toEqual(['rejected'])
  })

  test('if a passing run breaks', async () => {
    const result = await prove({
      control: 0,
      fixes: [{ rate: 1, corpus: ['identical', 'breaks'] }],
    })
    expect(result.fixes[0]?.verdict.reason).toContain('breaks 1 of 2 passing runs')
    expect(result.fixes[0]?.evidence.corpus).toEqual({
      identical: 1,
      same: 0,
      breaks: 1,
      notChecked: 0,
    })
  })

  test('if the same change elsewhere repairs the run too', async () => {
    const result = await prove({ control: 0, fixes: [{ rate: 1, placebo: 1 }] })
    expect(result.fixes[0]?.verdict.reason).toContain('unrelated location')
    expect(result.fixes[0]?.evidence.placebo).toEqual({ trials: 1, passed: 1 })
  })

  test('if a variant of the run still fails with it', async () => {
    const result = await prove({ control: 0, fixes: [{ rate: 1, probes: 0 }] })
    expect(result.fixes[0]?.verdict).toEqual({
      status: 'rejected',
      reason: 'It repairs only this run: with “c4” instead of “c9”, the run fails as before.',
      failedProbe: PROBE,
    })
  })

  test('if it tried something that a fix may not do, although the run passes', async () => {
    const attempts: Attempt[] = [{ code: 'WRITE', what: '/tmp/escaped.txt' }]
    const result = await prove({ control: 0, fixes: [{ rate: 1, attempts }] })
    expect(result.status).toBe('not-fixed')
    expect(result.fixes[0]).toMatchObject({
      verdict: { status: 'rejected' },
      evidence: { attempts },
    })
  })

  test('without a trial if it does what a fix may not do', async () => {
    const edits = [{ path: 'test/agent.test.ts', before: 'a\n', after: 'b\n' }]
    const trials = new PlantedTrials({ control: 0, fixes: [{ rate: 1 }] })
    const result = await proveAll([candidate(0, { author: 'model', edits })], trials)
    expect(result.fixes[0]).toMatchObject({
      verdict: { status: 'rejected', refusals: [{ code: 'PROTECTED_FILE' }] },
      evidence: { forks: 0 },
    })
  })

  test('if the agent stops with it', async () => {
    const result = await prove({ control: 0, fixes: [{ rate: 1, broke: 'SyntaxError' }] })
    expect(result.fixes[0]?.verdict).toEqual({
      status: 'rejected',
      reason: 'The agent breaks with the fix: SyntaxError',
    })
  })

  test('not if siblings do not fail without it: they are of another kind', async () => {
    const result = await prove(
      { control: 0, fixes: [{ rate: 1, siblings: 0 }], siblings: { a: { control: 1 } } },
      { siblings: ['a'] },
    )
    expect(statuses(result)).toEqual(['repairs'])
    expect(result.fixes[0]?.evidence.siblings).toEqual({ trials: 0, passed: 0 })
  })
})

test('a call that the tape cannot answer leaves a candidate undecided', async () => {
  const result = await prove({
    control: 0,
    fixes: [{ rate: 1, refused: 'mail.send is not on the tape' }],
  })
  expect(result.fixes[0]?.verdict).toEqual({
    status: 'undecided',
    reason:
      'It needs an answer that the tape does not have, and live requests are not allowed: mail.send is not on the tape',
  })
})

test('a placebo that does not repair supports the fix', async () => {
  const result = await prove({ control: 0, fixes: [{ rate: 1, placebo: 0 }] })
  expect(statuses(result)).toEqual(['repairs'])
})

describe('a run that is left to chance', () => {
  test('is fixed after 11 of 11 with the fix, and none of 7 without it', async () => {
    const result = await prove({ control: 0, live: 1, fixes: [{ rate: 1 }] })
    expect(result.status).toBe('repaired')
    expect(result.fixes[0]?.evidence).toMatchObject({
      fixed: { trials: 11, passed: 11 },
      control: { trials: 7, passed: 0 },
      isExact: false,
    })
    expect(result.fixes[0]!.evidence.fixed.low).toBeGreaterThan(0.7)
  })

  test('needs live requests for one fix only', async () => {
    const result = await prove({ control: 0, live: 1, fixes: [{ rate: 1 }, { rate: 1 }] })
    expect(statuses(result)).toEqual(['repairs', 'undecided'])
    expect(result.fixes[1]?.evidence.fixed.trials).toBe(1)
  })

  test('is called flaky if it passes sometimes and nothing is better', async () => {
    const result = await prove(
      { control: 0.5, live: 1, fixes: [{ rate: 0.5 }, { rate: 0.5 }] },
      {},
      3,
    )
    expect(result.status).toBe('flaky')
    expect(result.reason).toMatch(/^\d+ of \d+ runs of the unchanged code failed/)
  })

  test('is called flaky if its tape fails every time, and new answers and random values do not', async () => {
    const result = await prove({ control: 0, unpinned: 0.5, fixes: [{ rate: 0 }] }, {}, 3)
    expect(result).toMatchObject({ status: 'flaky', reproduced: { trials: 2, failed: 2 } })
    expect(result.forks).toBeLessThanOrEqual(8)
  })

  test('is fixed by a candidate clearly better than its own rate', async () => {
    const result = await prove({ control: 0.3, live: 1, fixes: [{ rate: 1 }] }, {}, 5)
    expect(result.status).toBe('repaired')
  })

  test('is not fixed by sending the same request again', async () => {
    // The recorded answer was bad luck: from step 2 on, any live run passes.
    const world = { control: 0, controlLive: 0.9, fixes: [{ rate: 0.9, live: 1, liveFrom: '2' }] }
    const trials = new PlantedTrials(world, 7)
    const result = await proveAll(trials.candidates, trials)
    expect(statuses(result)).not.toContain('repairs')
    expect([...trials.controlsFrom]).toEqual([undefined, '2'])
  })

  test('gives up soon on a candidate that never passes', async () => {
    const result = await prove({ control: 0, live: 1, fixes: [{ rate: 0 }] })
    expect(result.fixes[0]?.evidence.fixed).toMatchObject({ trials: 3, passed: 0 })
  })
})

describe('limits', () => {
  test.each([1, 2, 4])('hold for %i live trials at a time', async (jobs) => {
    const world = { control: 0, live: 1, fixes: [{ rate: 1 }] }
    const proven = await prove(world, { jobs })
    expect(proven.fixes[0]?.verdict.status).toBe('repairs')
    expect(proven.fixes[0]?.evidence.fixed.trials).toBeLessThanOrEqual(10 + jobs)
    const limited = await prove(world, { jobs, maxForks: 9 })
    expect(limited).toMatchObject({ status: 'not-fixed', isCutShort: true, forks: 9 })
  })

  test('end the trials and keep the results', async () => {
    const result = await prove(
      { control: 0, fixes: [{ rate: 1 }, { rate: 0 }, { rate: 1 }] },
      { maxForks: 5, enough: 9 },
    )
    expect(result).toMatchObject({
      status: 'repaired',
      reason: 'The limit of 5 trials was reached.',
      forks: 5,
    })
    expect(statuses(result)).toEqual(['repairs', 'undecided'])
  })

  test('of money include the cost of trials', async () => {
    const result = await prove(
      { control: 0, live: 1, fixes: [{ rate: 1, costUsd: 0.1 }] },
      { maxUsd: 0.25 },
    )
    expect(result.reason).toBe('The limit of $0.25 was reached.')
    expect(result.costUsd).toBeCloseTo(0.3)
  })

  test('of nothing start nothing', async () => {
    expect(await prove({ control: 0, fixes: [{ rate: 1 }] }, { maxForks: 0 })).toMatchObject({
      forks: 0,
      fixes: [],
    })
  })

  test('are also the end by a signal', async () => {
    const result = await prove(
      { control: 0, fixes: [{ rate: 1 }] },
      { signal: AbortSignal.abort() },
    )
    expect(result).toMatchObject({ forks: 0, reason: 'Stopped before it was decided.' })
  })
})

describe('several rounds of candidates', () => {
  test('reproduce once, and measure chance only if no fix is proven', async () => {
    const trials = new PlantedTrials({
      control: 0,
      unpinned: 0.5,
      fixes: [{ rate: 0 }, { rate: 1 }],
    })
    const [wrong, right] = trials.candidates as [FixCandidate, FixCandidate]
    const proof = new FixProof(context(), trials)
    await proof.prove([])
    await proof.prove([wrong])
    expect(proof.result).toMatchObject({ status: 'not-fixed', forks: 3, tried: 1 })
    await proof.prove([right])
    await proof.measureFlakiness()
    expect(proof.result).toMatchObject({ status: 'repaired', forks: 6, tried: 2 })
    expect(statuses(proof.result)).toEqual(['repairs', 'rejected'])
  })

  test('count as one when error rates are corrected', async () => {
    const controls = async (before: number): Promise<number> => {
      const fixes = [...Array.from({ length: before }, () => ({ rate: 0 })), { rate: 1 }]
      const trials = new PlantedTrials({ control: 0, live: 1, fixes })
      const proof = new FixProof(context(), trials)
      for (const each of trials.candidates) await proof.prove([each])
      expect(proof.status).toBe('repaired')
      return proof.result.fixes[0]!.evidence.control.trials
    }
    expect(await controls(11)).toBeGreaterThan(await controls(0))
  })

  test('a call that is refused is refused every time', async () => {
    const result = await prove({ control: 0, fixes: [{ rate: 0, refused: 'POST /leak' }] })
    expect(result.fixes[0]).toMatchObject({
      verdict: { status: 'undecided', reason: expect.stringContaining('POST /leak') as string },
      evidence: { forks: 1 },
    })
  })
})

describe('a change that loses data', () => {
  const losses: Loss[] = [{ code: 'EMPTY_PRINTED', value: 'undefined', line: 'until undefined' }]

  test('is a workaround', async () => {
    const result = await prove({ control: 0, fixes: [{ rate: 1, losses }] })
    expect(result).toMatchObject({ status: 'workaround', claim: 'this-run' })
    expect(statuses(result)).toEqual(['workaround'])
  })

  test('never comes before one that loses nothing', async () => {
    const result = await prove({
      control: 0,
      fixes: [{ rate: 1, losses, probes: 1 }, { rate: 1 }],
    })
    expect(result.status).toBe('repaired')
    expect(result.fixes.map(({ candidate: { id } }) => id)).toEqual(['fix-1', 'fix-0'])
  })
})

test('a change by a model that names a value of the run is a workaround, unless it repairs another run', async () => {
  const world = { control: 0, fixes: [{ rate: 1 }], siblings: { a: { control: 0 } } }
  const edits = [{ path: 'agent.mjs', before: 'use(a)', after: "if (a !== 'c9') use(a)" }]
  const fix = candidate(0, { author: 'model', edits })
  const judge = async (siblings: readonly string[]) => {
    const run = new RunScript().print('c9').end(1).view()
    const proof = new FixProof({ ...context(), run }, new PlantedTrials(world), { siblings })
    await proof.prove([fix])
    return proof.result
  }
  expect(await judge([])).toMatchObject({ status: 'workaround', claim: 'this-run' })
  expect(await judge(['a'])).toMatchObject({
    status: 'repaired',
    claim: 'this-run',
    fixes: [{ evidence: { losses: [] } }],
  })
})

describe('variants of the run', () => {
  /**
   * A world whose variants fail without a fix, unless `isSilent` or `isPassing`, and with it as given.
   */
  class Variants extends PlantedTrials {
    readonly tried: string[] = []

    constructor(
      readonly ids: readonly string[],
      readonly isSilent: (id: string) => boolean,
      readonly fixed: Partial<FixTrial>,
      readonly isPassing: (id: string) => boolean = () => false,
    ) {
      super({ control: 0, fixes: [{ rate: 1 }, { rate: 1 }] })
    }

    override async probes(): Promise<readonly Probe[]> {
      return this.ids.map((id) => ({ id, changes: [{ from: id, to: 'other' }] }))
    }

    override async probe(given: FixCandidate | undefined, { id }: Probe): Promise<FixTrial> {
      const trial = { reason: '', live: 0, pinnedToChanged: 0, ms: 1, verdict: 'pass' as const }
      if (given !== undefined) return { ...trial, ...this.fixed }
      this.tried.push(id)
      if (this.isPassing(id)) return trial
      return { ...trial, verdict: this.isSilent(id) ? 'undefined' : 'fail' }
    }
  }

  const ids = Array.from('abcdefghijklmnopqrst')

  test('count only if the unchanged code fails on them, which is tried once and is a fork', async () => {
    const source = new Variants(ids, (id) => 'ace'.includes(id), {})
    const result = await proveAll(source.candidates, source)
    expect(source.tried).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
    expect(result.fixes.map(({ evidence }) => evidence.probes)).toEqual([
      { trials: 6, passed: 6 },
      { trials: 6, passed: 6 },
    ])
    expect(result.claim).toBe('this-kind')
    const without = new Variants([], () => false, {})
    const { forks } = await proveAll(without.candidates, without)
    expect(result.forks - forks).toBe(9 + 6 + 6)
  })

  test('are no longer tried after six that fail, or after 16', async () => {
    const failing = new Variants(ids, () => false, {})
    await proveAll(failing.candidates, failing)
    expect(failing.tried).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
    const silent = new Variants(ids, () => true, {})
    const result = await proveAll(silent.candidates, silent)
    expect(silent.tried).toHaveLength(16)
    expect(result.claim).toBe('this-run')
  })

  test('show nothing by passing if they may have nothing to do with the failure', async () => {
    const probes = async (): Promise<Probe[]> => [{ id: 'a', changes: [], onlyRejects: true }]
    const source = new Variants(['a'], () => false, {})
    source.probes = probes
    const result = await proveAll(source.candidates, source)
    expect(result.claim).toBe('this-run')
    const special = new Variants(['a'], () => false, { verdict: 'fail' })
    special.probes = probes
    expect((await proveAll(special.candidates, special)).status).toBe('not-fixed')
  })

  test('lower the claim, but do not reject, if they fail in another way', async () => {
    const source = new Variants(['a'], () => false, { verdict: 'undefined', failsOtherwise: true })
    const result = await proveAll(source.candidates, source)
    expect(result).toMatchObject({ status: 'repaired', claim: 'this-run' })
    expect(result.fixes[0]?.evidence.probes).toEqual({ trials: 1, passed: 0 })
  })

  test('reject a fix that breaks those on which the unchanged code passes', async () => {
    const isB = (id: string): boolean => id === 'b'
    const crashing = new Variants(['a', 'b'], () => false, {}, isB)
    crashing.probe = async (given, { id }) => ({
      ...(await Variants.prototype.probe.call(crashing, given, { id, changes: [] })),
      ...(given !== undefined && isB(id) && { verdict: 'undefined', crashes: true }),
    })
    const result = await proveAll(crashing.candidates, crashing)
    expect(result.fixes[0]?.verdict).toMatchObject({
      status: 'rejected',
      reason: 'It breaks the run with “other” instead of “b”, which passes without it.',
    })
    const passing = new Variants(['a', 'b'], () => false, {}, isB)
    const { fixes } = await proveAll(passing.candidates, passing)
    expect(fixes[0]).toMatchObject({
      verdict: { status: 'repairs' },
      evidence: { probes: { trials: 1, passed: 1 } },
    })
  })

  test('reject a fix that writes a value which only the recorded run has, or tries something', async () => {
    const values = new Variants(['a'], () => false, { verdict: 'fail', recordedValue: 'a' })
    const result = await proveAll(values.candidates, values)
    expect(result.fixes[0]?.verdict.reason).toBe(
      'It repairs only this run: with “other” instead of “a”, the run still writes “a”.',
    )
    const attempts: Attempt[] = [{ code: 'WRITE', what: '/tmp/escaped.txt' }]
    const escaping = new Variants(['a'], () => false, { attempts })
    const { fixes } = await proveAll(escaping.candidates, escaping)
    expect(fixes[0]).toMatchObject({ verdict: { status: 'rejected' }, evidence: { attempts } })
  })
})

describe('the order of fixes', () => {
  test('puts the one first that changes no passing run', async () => {
    const result = await prove({
      control: 0,
      fixes: [
        { rate: 1, corpus: ['same-outcome', 'identical'] },
        { rate: 1, corpus: ['identical', 'identical'] },
      ],
    })
    expect(result.fixes.map(({ candidate: { id } }) => id)).toEqual(['fix-1', 'fix-0'])
    expect(result.fixes[0]?.scoreReason).toBe(
      'certain on this run; no other failing run to compare; 2 of 2 passing runs stay identical; 2 lines at the transport layer',
    )
    expect(result.fixes[1]?.scoreReason).toContain('changes 1 of 2 passing runs')
  })

  test('puts rejected candidates last', async () => {
    const result = await prove({ control: 0, fixes: [{ rate: 0 }, { rate: 1 }] })
    expect(statuses(result)).toEqual(['repairs', 'rejected'])
  })
})

/** More worlds in a soak. */
const WORLDS = process.env['RETAKE_SOAK'] === '1' ? 400 : 40

/** Share of worlds in which anything is called proven. */
const provenShare = async (
  worlds: number,
  world: (seed: number) => World,
  options: ProveOptions = {},
): Promise<number> => {
  let proven = 0
  for (let seed = 1; seed <= worlds; seed++) {
    const result = await prove(world(seed), { maxForks: 2000, ...options }, seed * 7919)
    if (result.status === 'repaired') proven++
  }
  return proven / worlds
}

describe('over many planted worlds', () => {
  test('fixes that do nothing are proven less often than stated, at any base rate', async () => {
    for (const rate of [0.1, 0.5, 0.8, 0.95]) {
      const fixes = Array.from({ length: 6 }, () => ({ rate }))
      expect(
        await provenShare(WORLDS, () => ({ control: rate, live: 1, fixes }), { enough: 9 }),
      ).toBeLessThanOrEqual(0.05)
    }
  })

  test('fixes that always work are found', async () => {
    expect(
      await provenShare(WORLDS, () => ({
        control: 0.2,
        live: 1,
        fixes: [{ rate: 0 }, { rate: 0.2 }, { rate: 1 }],
      })),
    ).toBeGreaterThan(0.95)
  })

  test('no fix that fails a sibling, an opposite, a passing run or the placebo test is proven', async () => {
    const flaw = fc.constantFrom<Partial<PlantedFix>>(
      { siblings: 0 },
      { opposites: 0 },
      { corpus: ['identical', 'breaks'] },
      { placebo: 1 },
      { rate: 0 },
      { broke: 'x' },
      { refused: 'x' },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(flaw, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        fc.integer(),
        async (flaws, isLive, seed) => {
          const fixes = flaws.map((each) => ({ rate: 1, ...each }))
          const world = { control: 0, live: isLive ? 1 : 0, fixes, siblings: { a: { control: 0 } } }
          const result = await prove(
            world,
            { siblings: ['a'], opposites: ['b'], maxForks: 2000 },
            seed,
          )
          expect(statuses(result)).not.toContain('repairs')
        },
      ),
      { numRuns: WORLDS },
    )
  })
})

describe('the form of an answer that the code expects', () => {
  const probe = (id: string): Probe => ({ id, changes: [{ from: id, to: `other ${id}` }] })
  const FORM: Form = {
    recorded: probe('recorded'),
    form: probe('form'),
    others: [{ recorded: probe('recorded 0'), form: probe('form 0') }],
  }

  /** What the code does with each answer, without and with the change. */
  const judged = async (
    before: Readonly<Record<string, string>>,
    after: Readonly<Record<string, string>>,
    author: FixCandidate['author'] = 'model',
    form = FORM,
  ) => {
    const source = new PlantedTrials({ control: 0, fixes: [{ rate: 1 }] })
    source.forms = async () => [form]
    source.probe = async (given, { id }) => {
      const did = (given === undefined ? before : after)[id]
      return {
        verdict: 'undefined',
        reason: '',
        live: 0,
        pinnedToChanged: 0,
        ms: 1,
        ...(did !== undefined && {
          did: { digest: did, isThrown: did === 'error', isEmpty: did === 'undefined' },
        }),
      }
    }
    const { fixes } = await proveAll([candidate(0, { author })], source)
    return fixes[0]?.verdict
  }
  const right = { form: 'five', 'form 0': 'zero' }
  const repaired = { ...right, recorded: 'five', 'recorded 0': 'zero' }

  test('leaves a change alone that does the same with it, and with other values', async () => {
    expect(await judged(right, repaired)).toMatchObject({ status: 'repairs' })
  })

  test('rejects a change that breaks it, or does something else with other values', async () => {
    expect(await judged(right, { ...repaired, form: 'error' })).toMatchObject({
      status: 'rejected',
      reason:
        'It breaks the run with “other form” instead of “form”, with which the unchanged code does something else.',
      failedProbe: FORM.form,
    })
    expect(await judged(right, { ...repaired, 'recorded 0': 'undefined' })).toMatchObject({
      status: 'rejected',
      failedProbe: FORM.others[0]!.recorded,
    })
  })

  test('says nothing if the unchanged code fails with it, or does something else', async () => {
    const broken = { ...repaired, form: 'error' }
    expect(await judged({ ...right, form: 'error' }, broken)).toMatchObject({ status: 'repairs' })
    expect(await judged({ ...right, form: 'undefined' }, broken)).toMatchObject({
      status: 'repairs',
    })
    expect(await judged({ ...right, form: 'six' }, broken)).toMatchObject({ status: 'repairs' })
    const other = { ...repaired, 'recorded 0': 'other' }
    expect(await judged({ ...right, 'form 0': 'error' }, other)).toMatchObject({
      status: 'repairs',
    })
  })

  test('rejects a change that does something else, if the form is what was wrong', async () => {
    const certain: Form = { ...FORM, isCertain: true }
    const other = { ...repaired, recorded: 'two' }
    expect(await judged({ ...right, recorded: 'error' }, other, 'model', certain)).toMatchObject({
      status: 'rejected',
      reason:
        'It does something else than the unchanged code does with “other form” instead of “form”, which means the same.',
    })
    expect(await judged({ ...right, recorded: 'three' }, other, 'model', certain)).toMatchObject({
      status: 'repairs',
    })
  })

  test('is not tried for rules', async () => {
    expect(await judged(right, { ...repaired, form: 'error' }, 'rule')).toMatchObject({
      status: 'repairs',
    })
  })
})
