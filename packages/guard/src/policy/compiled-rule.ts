import { ownFields } from '../data/own-data.js'
import { type FitTest, NO, UNKNOWN, YES } from './fit.js'
import { type Names, nameTest, type NameTest } from '../data/name-pattern.js'
import type { Effect, GuardVerdict } from '@retake/tape/guards'
import { ArgumentPath, argumentText, startEvaluation, UNREADABLE } from '../data/argument-path.js'
import type { CallHistory, Watch } from './call-history.js'
import { compilePredicate } from './compile-predicate.js'
import {
  EFFECTS,
  LOOK_BACK_LIMIT,
  ruleVerdict,
  type Earlier,
  type Predicate,
  type Rule,
  type Taint,
  type When,
} from './policy.js'
import { eachText, joinedMembers, type TaintSource, type TaintTracker } from './taint-tracker.js'

/** A call as policies see it before it runs. */
export interface JudgedCall {
  readonly tool: string
  readonly args: unknown
  /** Declared effects of the tool; undefined without a declaration. */
  readonly effects: readonly Effect[] | undefined
}

const ANY = -1

export const effectBits = (effects: readonly Effect[] | undefined): number => {
  if (effects === undefined) return ANY
  let bits = 0
  for (const effect of effects) {
    const index = EFFECTS.indexOf(effect)
    // An unknown effect may be any effect.
    if (index < 0) return ANY
    bits |= 1 << index
  }
  return bits
}

const bitsOf = (effect: Effect | readonly Effect[] | undefined): number | undefined =>
  effect === undefined ? undefined : effectBits(typeof effect === 'string' ? [effect] : effect)

export interface ArgumentTest {
  readonly path: ArgumentPath
  readonly predicate: Predicate
  readonly test: FitTest
}

/** Compiled paths by their text, shared between rules. */
export type PathList = Map<string, ArgumentPath>

export interface FilterOptions {
  readonly tool: Names
  readonly effect?: Effect | readonly Effect[] | undefined
  readonly declares?: Effect | readonly Effect[] | undefined
  readonly when?: When | undefined
}

/** Selects calls for a rule or its `after`. An unknown result matches, except in an allow rule. */
export class CallFilter {
  readonly fitsName: NameTest
  readonly #effects: number | undefined
  readonly #declared: number | undefined
  readonly tests: readonly ArgumentTest[]

  constructor(
    readonly options: FilterOptions,
    readonly isStrict: boolean,
    paths: PathList = new Map(),
  ) {
    const { tool, effect, declares, when = {} } = ownFields(options)
    this.fitsName = nameTest(tool)
    this.#effects = bitsOf(effect)
    this.#declared = bitsOf(declares)
    this.tests = Object.entries(when).map(([text, predicate]) => {
      let path = paths.get(text)
      if (path === undefined) paths.set(text, (path = new ArgumentPath(text)))
      return { path, predicate, test: compilePredicate(predicate) }
    })
  }

  fits(call: JudgedCall): boolean {
    startEvaluation()
    return this.fitsName(call.tool) && this.fitsRest(effectBits(call.effects), call.args)
  }

  /** Tests everything but the name of the tool. */
  fitsRest(effects: number, args: unknown): boolean {
    if (!this.fitsEffects(effects)) return false
    for (const test of this.tests) if (!this.passes(test, args)) return false
    return true
  }

  fitsEffects(effects: number): boolean {
    return (
      (this.#effects === undefined || this.#fitsBits(effects, this.#effects)) &&
      (this.#declared === undefined || (effects !== ANY && this.#fitsBits(effects, this.#declared)))
    )
  }

  #fitsBits(effects: number, wanted: number): boolean {
    return this.isStrict ? (effects & wanted) !== 0 : (effects & ~wanted) === 0
  }

  passes({ path, test }: ArgumentTest, args: unknown): boolean {
    const values = path.valuesIn(args)
    // Only `exists: false` matches a missing value.
    if (values.length === 0) return test(undefined) === YES
    for (const value of values) {
      const fit = value === UNREADABLE ? UNKNOWN : test(value)
      if (this.isStrict && fit !== NO) return true
      if (!this.isStrict && fit !== YES) return false
    }
    return !this.isStrict
  }
}

interface TaintFound {
  readonly at: string
  readonly text: string
  /** Undefined if there was more untrusted text than can be tracked. */
  readonly source: TaintSource | undefined
}

/** Searches these paths for untrusted text; all arguments if there are no paths. */
export function taintIn(
  args: unknown,
  paths: readonly ArgumentPath[],
  tracker: TaintTracker,
): TaintFound | undefined {
  const look = (value: unknown, at: readonly (string | number)[]): TaintFound | undefined =>
    eachText(value, (text) => {
      const source = tracker.find(text)
      if (source !== undefined) return { at: argumentText(at), text, source }
      return tracker.isFull && text.length >= tracker.minLength
        ? { at: argumentText(at), text, source: undefined }
        : undefined
    })
  if (paths.length > 0) {
    for (const path of paths) {
      const found = path.each(args, look)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (!isOpen(args)) return look(args, [])
  const entries: Iterable<[unknown, unknown]> = args instanceof Map ? args : Object.entries(args)
  for (const [key, value] of entries) {
    const found = look(value, [String(key)]) ?? look(key, [String(key)])
    if (found !== undefined) return found
  }
  return look(joinedMembers(args), [])
}

/** True if each member has its own path. */
const isOpen = (args: unknown): args is object =>
  typeof args === 'object' &&
  args !== null &&
  (Array.isArray(args) || args instanceof Map || Object.getPrototypeOf(args) === Object.prototype)

/** Collects the paths, watches and taints that rules share. */
export interface LookBackList {
  readonly paths: PathList
  readonly watches: Watch[]
  readonly taints: { readonly from: Names; readonly minLength: number }[]
}

const DEFAULT_TAINT_LENGTH = 12

export class CompiledRule {
  readonly verdict: GuardVerdict
  readonly names: Names
  readonly filter: CallFilter
  readonly #count: number | undefined
  readonly #after: readonly number[] | undefined
  readonly #taint: { readonly index: number; readonly paths: readonly ArgumentPath[] } | undefined
  readonly #looksBack: boolean

  constructor(
    readonly rule: Rule,
    /** `policy/rule`. */
    readonly name: string,
    lookBack: LookBackList,
  ) {
    this.verdict = ruleVerdict(rule)
    this.names = rule[this.verdict] ?? []
    const isStrict = this.verdict !== 'allow'
    const { effect, declares, when, after, moreThan, within, tainted } = rule
    this.filter = new CallFilter(
      { tool: this.names, effect, declares, when },
      isStrict,
      lookBack.paths,
    )
    const watch = (filter: CallFilter, onlyDone: boolean, count: number): number =>
      lookBack.watches.push({
        filter,
        onlyDone,
        capacity: within === undefined ? 0 : Math.min(count, LOOK_BACK_LIMIT),
      }) - 1
    if (moreThan !== undefined) this.#count = watch(this.filter, false, moreThan)
    if (after !== undefined)
      this.#after = earlierOf(after).map(({ tool = '*', ...rest }) =>
        watch(new CallFilter({ tool, ...rest }, isStrict), !isStrict, 1),
      )
    if (tainted !== undefined) {
      const taint = taintOf(tainted)
      // Rules that track the same text share an index.
      const { taints } = lookBack
      const from = [...namesOf(taint.from)].toSorted()
      const minLength = taint.minLength ?? DEFAULT_TAINT_LENGTH
      const known = taints.findIndex(
        (each) => each.minLength === minLength && namesOf(each.from).join('\0') === from.join('\0'),
      )
      const index = known >= 0 ? known : taints.push({ from, minLength }) - 1
      const paths = taint.in === undefined ? [] : namesOf(taint.in)
      this.#taint = { index, paths: paths.map((path) => new ArgumentPath(path)) }
    }
    this.#looksBack = moreThan !== undefined || after !== undefined || tainted !== undefined
  }

  /** Tests everything but the name of the tool. */
  matches(effects: number, args: unknown, history: CallHistory): boolean {
    if (!this.filter.fitsRest(effects, args)) return false
    if (!this.#looksBack) return true
    return (
      this.countMatches(history) &&
      this.afterMatches(history) &&
      this.taintFound(args, history) !== false
    )
  }

  countMatches(history: CallHistory): boolean {
    const { moreThan } = this.rule
    if (this.#count === undefined || moreThan === undefined) return true
    return history.counters[this.#count]?.hasAtLeast(moreThan, this.#since(history)) === true
  }

  afterMatches(history: CallHistory): boolean {
    const after = this.#after
    if (after === undefined) return true
    const since = this.#since(history)
    const isMade = (index: number): boolean =>
      history.counters[index]?.hasAtLeast(1, since) === true
    return this.verdict === 'allow' ? after.every(isMade) : after.some(isMade)
  }

  /** Undefined if the rule has no `tainted` key; false if nothing is tainted. */
  taintFound(args: unknown, history: CallHistory): TaintFound | false | undefined {
    if (this.#taint === undefined) return undefined
    const tracker = history.taints[this.#taint.index]
    return (tracker && taintIn(args, this.#taint.paths, tracker)) ?? false
  }

  #since(history: CallHistory): number | undefined {
    const { within } = this.rule
    return within === undefined ? undefined : history.number - within + 1
  }
}

export const namesOf = (names: Names): readonly string[] =>
  typeof names === 'string' ? [names] : names

export const earlierOf = (after: Earlier | readonly Earlier[]): readonly Earlier[] =>
  Array.isArray(after) ? (after as readonly Earlier[]) : [after]

export const taintOf = (tainted: Names | Taint): Taint =>
  typeof tainted === 'string' || Array.isArray(tainted)
    ? { from: tainted as Names }
    : (tainted as Taint)
