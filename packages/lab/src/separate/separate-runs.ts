import { logGamma } from '../search/stats.js'

/** A value that a variable, or a part of one, had at a line. */
export interface ObservedValue {
  /** `src/agent.ts:42` */
  readonly site: string
  /** `cart.total` */
  readonly path: string
  readonly value: unknown
}

/** One run: its outcome and the values seen in it. */
export interface ObservedRun {
  readonly id: string
  readonly failed: boolean
  readonly values: readonly ObservedValue[]
}

/** A predicate that is true of some runs: a value at a line, at least once. */
export interface SeparatingPredicate {
  readonly site: string
  /** As code: `cart.total > 49.5`; empty if it only says that the line ran. */
  readonly text: string
  /** Runs in which it is true, by outcome. */
  readonly failed: number
  readonly passed: number
  /** `p`: two-sided Fisher's exact test. `adjustedP`: with Bonferroni correction. */
  readonly p: number
  readonly adjustedP: number
  /** Other predicates that are true of exactly the same runs. */
  readonly alike: readonly string[]
}

export interface SeparatedRuns {
  readonly failed: number
  readonly passed: number
  /** Number of distinct predicates tested. */
  readonly tested: number
  /** Best first. */
  readonly predicates: readonly SeparatingPredicate[]
}

/** Maximum number of cut points. More are thinned out. */
const CUTS_MAX = 40
/** Longer values are compared by length only. */
const TEXT_MAX = 80
/** A value seen in fewer runs does not generalise. */
const RUNS_MIN = 2

/**
 * Ranks predicates that separate failed from passed runs: a value, a bound on a number, a line that
 * ran. Correlation, not causation. Groups predicates that are true of the same runs.
 */
export function separateRuns(runs: readonly ObservedRun[], most = 20): SeparatedRuns {
  const failedIn = runs.map(({ failed }) => failed)
  const total = { failed: failedIn.filter(Boolean).length, runs: runs.length }
  const failedAmong = (trueIn: ReadonlySet<number>): number => {
    let count = 0
    for (const index of trueIn) if (failedIn[index]) count += 1
    return count
  }
  /** Grouped by the runs of which they are true, or false. */
  const groups = new Map<string, Candidate[]>()
  for (const candidate of candidatesIn(runs)) {
    const { trueIn } = candidate
    if (trueIn.size < RUNS_MIN && total.failed !== trueIn.size) continue
    if (trueIn.size === runs.length) continue
    // A predicate and its negation have the same key, because they separate the same runs.
    const key = failedIn.map((_, index) => Number(trueIn.has(index) === trueIn.has(0))).join('')
    const group = groups.get(key) ?? []
    groups.set(key, group)
    group.push(candidate)
  }
  const tested = [...groups.values()].flatMap((group) => {
    // Of a predicate and its negation, use the one that correlates with failure.
    const withFailure = group.filter(
      ({ trueIn }) => failedAmong(trueIn) * runs.length >= total.failed * trueIn.size,
    )
    const [first, ...others] = (withFailure.length > 0 ? withFailure : group).toSorted(
      (a, b) => a.rank - b.rank || a.order - b.order || a.text.length - b.text.length,
    )
    if (first === undefined) return []
    const failed = failedAmong(first.trueIn)
    const passed = first.trueIn.size - failed
    const p = fisherExact(failed, passed, total.failed, total.runs - total.failed)
    const alike = others.map(({ site, text }) => `${site}  ${text || 'ran'}`)
    const adjustedP = Math.min(1, p * groups.size)
    const { site, path, text } = first
    return [{ path, predicate: { site, text, failed, passed, p, adjustedP, alike } }]
  })
  // Other bounds on the same value add nothing new.
  const shown = new Set<string>()
  return {
    failed: total.failed,
    passed: total.runs - total.failed,
    tested: groups.size,
    predicates: tested
      .map(({ path, predicate }) => ({ key: `${predicate.site} ${path}`, predicate }))
      .toSorted(({ predicate: a }, { predicate: b }) => a.p - b.p || a.text.length - b.text.length)
      .filter(({ key }) => !shown.has(key) && shown.add(key))
      .map(({ predicate }) => predicate)
      .slice(0, most),
  }
}

interface Candidate {
  readonly site: string
  readonly path: string
  readonly text: string
  /** Simpler predicates first: a value, then a bound, then a line that ran. */
  readonly rank: number
  /** When its line was first seen. */
  readonly order: number
  /** Indexes of the runs of which it is true. */
  readonly trueIn: ReadonlySet<number>
}

function* candidatesIn(runs: readonly ObservedRun[]): Generator<Candidate> {
  const sites = new Map<string, { order: number; ran: Set<number> }>()
  /** By site and path, then by run. */
  const seen = new Map<string, { site: string; path: string; byRun: Map<number, Set<unknown>> }>()
  for (const [index, { values }] of runs.entries())
    for (const { site, path, value } of values) {
      const known = sites.get(site) ?? { order: sites.size, ran: new Set() }
      sites.set(site, known)
      known.ran.add(index)
      const key = `${site} ${path}`
      const entry = seen.get(key) ?? { site, path, byRun: new Map<number, Set<unknown>>() }
      seen.set(key, entry)
      const inRun = entry.byRun.get(index) ?? new Set()
      entry.byRun.set(index, inRun)
      inRun.add(value)
    }
  for (const [site, { order, ran }] of sites)
    yield { site, path: '', text: '', rank: 2, order, trueIn: ran }
  for (const { site, path, byRun } of seen.values()) {
    const order = sites.get(site)?.order ?? 0
    const runsWhere = (fits: (value: unknown) => boolean): Set<number> => {
      const trueIn = new Set<number>()
      for (const [index, values] of byRun)
        for (const value of values) if (fits(value)) trueIn.add(index)
      return trueIn
    }
    for (const value of distinct(byRun)) {
      if (typeof value === 'string' && value.length > TEXT_MAX) continue
      const text = `${path} === ${JSON.stringify(value) ?? 'undefined'}`
      const trueIn = runsWhere((each) => Object.is(each, value))
      yield { site, path, text, rank: 0, order, trueIn }
    }
    const lengths = (value: unknown): unknown => (typeof value === 'string' ? value.length : value)
    const isText = distinct(byRun).some((value) => typeof value === 'string')
    const read = isText ? lengths : (value: unknown): unknown => value
    const name = isText ? `${path}.length` : path
    for (const cut of cutsIn(distinct(byRun).map(read))) {
      const above = runsWhere((value) => (read(value) as number) > cut)
      const below = runsWhere((value) => (read(value) as number) < cut)
      yield { site, path, text: `${name} > ${rounded(cut)}`, rank: 1, order, trueIn: above }
      yield { site, path, text: `${name} < ${rounded(cut)}`, rank: 1, order, trueIn: below }
    }
  }
}

const distinct = (byRun: ReadonlyMap<number, ReadonlySet<unknown>>): unknown[] => [
  ...new Set([...byRun.values()].flatMap((values) => [...values])),
]

/** Points between neighbouring numbers. */
function cutsIn(values: readonly unknown[]): number[] {
  const numbers = [
    ...new Set(
      values.filter((each): each is number => typeof each === 'number' && !Number.isNaN(each)),
    ),
  ].toSorted((a, b) => a - b)
  const cuts = numbers.slice(1).map((number, index) => (number + (numbers[index] ?? 0)) / 2)
  const step = Math.max(1, cuts.length / CUTS_MAX)
  return Array.from(
    { length: Math.min(cuts.length, CUTS_MAX) },
    (_, index) => cuts[Math.floor(index * step)] ?? 0,
  )
}

const rounded = (cut: number): number => Number(cut.toPrecision(6))

/**
 * Two-sided p-value: the probability, given the totals, of a split at most as likely as this one,
 * in which `a` of `failed` and `b` of `passed` runs match.
 */
export function fisherExact(a: number, b: number, failed: number, passed: number): number {
  const having = a + b
  const all = logChoose(failed + passed, having)
  const probability = (k: number): number =>
    Math.exp(logChoose(failed, k) + logChoose(passed, having - k) - all)
  const observed = probability(a)
  let sum = 0
  for (let k = Math.max(0, having - passed); k <= Math.min(failed, having); k++) {
    const each = probability(k)
    // Rounding must not exclude the split itself.
    if (each <= observed * (1 + 1e-9)) sum += each
  }
  return Math.min(1, sum)
}

const logChoose = (n: number, k: number): number =>
  logFactorial(n) - logFactorial(k) - logFactorial(n - k)

const logFactorials: number[] = []
const logFactorial = (n: number): number => (logFactorials[n] ??= logGamma(n + 1))
