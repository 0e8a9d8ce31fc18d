import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { outsideRuns } from '@retake/engine'
import { guard, type GuardOptions, type GuardResult } from '@retake/guard'
import { openTape } from '@retake/tape/node'
import { onTestFinished } from 'vitest'
import { cutTape } from '../support/cut-tape.js'
import { tapesIn } from './resume-setup.js'
import { repetitions } from '../support/soak.js'

export type Run = ReturnType<typeof guard>

/** Numbers that look random and are the same each time. */
export function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
}

/** What an attempt may use, in cents and in tokens, and what all runs of a chain may. */
export const RESERVE = 8
export const LIMIT = 48
export const LIMITS = { costUsd: LIMIT / 100, tokens: LIMIT }

/** Counts what is really spent, whatever a guard says, and what should not have been. */
export class Wallet {
  readonly broken: string[] = []
  readonly #spent: { readonly cents: number; readonly events: number }[] = []

  /** `before`: what was spent before the run. `events`: how many stand on its tape by now. */
  constructor(
    readonly before: number,
    readonly events: () => number,
  ) {}

  get total(): number {
    return this.#spent.reduce((sum, { cents }) => sum + cents, this.before)
  }

  /** A tool was started: there must be room for all it may spend, and the guard must know of the rest. */
  pay(cents: number, { spent, reserved }: Run['limiter']['used']): void {
    const most = this.total + RESERVE
    if (most > LIMIT) this.broken.push(`${most} of ${LIMIT} may be spent when this one is over`)
    const known = spent.tokens + reserved.tokens
    if (known < most) this.broken.push(`${most} may be spent, and the guard knows of ${known}`)
    this.add(cents)
  }

  add(cents: number): void {
    this.#spent.push({ cents, events: this.events() })
  }

  /** What was spent when the tape had so many events. */
  totalAt(events: number): number {
    const until = this.#spent.filter((each) => each.events <= events)
    return until.reduce((sum, { cents }) => sum + cents, this.before)
  }
}

const KINDS = ['pay', 'both', 'outer', 'flaky', 'slow', 'spend'] as const
export type Step = (typeof KINDS)[number]

export const SEEDS = Array.from(
  { length: repetitions('RETAKE_SEEDS', { beforeMerge: 2, soak: 40 }) },
  (_, index) => index + 1,
)

/** Each kind once, and some of them again, in some order; one that needs much while there is enough. */
export function stepsOf(seed: number): Step[] {
  const roll = dice(seed)
  const steps = [...KINDS, ...KINDS.slice(0, 3)].map((step) => ({
    step,
    place: roll(step === 'flaky' ? 300 : 1_000),
  }))
  return steps.toSorted((a, b) => a.place - b.place).map(({ step }) => step)
}

/** A guard whose tools spend, fail, say nothing of it, are tried again, given up, or call others. */
export function shopOf(options: Partial<GuardOptions>, wallet: Wallet, seed: number): Run {
  const roll = dice(seed)
  const run = guard({ name: 'shop', limits: LIMITS, inDoubt: 'retry', ...options })
  const reserve = { costUsd: RESERVE / 100, outputTokens: RESERVE }
  const said = (cents: number) => ({ costUsd: cents / 100, outputTokens: cents })
  run.tool(
    'pay',
    ({ n }: { n: string }, { use }) => {
      // One that does not say what it spent has spent it all.
      const saysIt = roll(3) > 0
      const cents = saysIt ? roll(RESERVE + 1) : RESERVE
      wallet.pay(cents, run.limiter.used)
      if (saysIt) use(said(cents))
      if (roll(4) === 0) throw new Error('no')
      return n
    },
    { reserve },
  )
  run.tool(
    'flaky',
    (_: unknown, { use, attempt }) => {
      const cents = attempt === 1 ? RESERVE : roll(RESERVE)
      wallet.pay(cents, run.limiter.used)
      if (attempt === 1) throw Object.assign(new Error('busy'), { status: 503 })
      use(said(cents))
      return 'at last'
    },
    { reserve, idempotent: true, retries: 1 },
  )
  run.tool(
    'slow',
    () => {
      wallet.pay(RESERVE, run.limiter.used)
      return new Promise<never>(() => {})
    },
    { reserve, timeoutMs: 1 },
  )
  run.tool(
    'outer',
    async ({ n }: { n: string }) => {
      for (const part of ['a', 'b']) await run.call('pay', { n: `${n}${part}` })
      run.spend(said(1))
      wallet.add(1)
      if (roll(3) === 0) throw new Error('not so')
      return n
    },
    { reserve: {}, effects: ['read'] },
  )
  return run
}

/** Takes the steps one after another, and returns what became of each call. */
export async function take(run: Run, steps: readonly Step[], wallet: Wallet) {
  const results: GuardResult[] = []
  for (const [index, step] of steps.entries()) {
    const n = String(index)
    if (step === 'spend') {
      run.spend({ costUsd: 0.03, inputTokens: 3 })
      wallet.add(3)
    } else if (step === 'both')
      results.push(
        ...(await Promise.all([run.call('pay', { n }), run.call('pay', { n, other: true })])),
      )
    else results.push(await run.call(step, { n }))
  }
  return results
}

/** In memory where there is such a place: these tests wait for a disk hundreds of times, and ask nothing of it. */
export function folder(): string {
  const dir = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'retake-spending-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** A new folder with these tapes, the last of them as a kill after so many events would have left it. */
export function cutAt(tapes: readonly string[], last: string, events: number): string {
  const dir = join(folder(), 'cut')
  cutTape(last, events, dir)
  for (const tape of tapes) if (tape !== last) copyFileSync(tape, join(dir, basename(tape)))
  return dir
}

/** How many events are on a tape of this folder that was not there before, or on the only one. */
export function eventsIn(folder: string): () => number {
  const before = new Set(tapesIn(folder))
  let tape: string | undefined
  return () =>
    outsideRuns(() => {
      tape ??= tapesIn(folder).find((each) => !before.has(each))
      return tape === undefined ? 0 : openTape(tape).count
    })
}
