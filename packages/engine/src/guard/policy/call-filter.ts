import type { Effect } from '@retake/tape'
import { ArgumentPath } from './argument-path.js'
import { compilePredicate } from './compile-predicate.js'
import { NO, YES, type FitTest } from './fit.js'
import { nameTest, type NameTest } from './name-pattern.js'
import type { Names, Predicate, When } from './policy.js'

/** A call as a policy sees it, before it runs. */
export interface JudgedCall {
  readonly tool: string
  readonly args: unknown
  /** What the tool says it does; undefined when it does not say. */
  readonly effects: readonly Effect[] | undefined
}

export const EFFECTS: readonly Effect[] = ['read', 'write', 'network', 'shell', 'spend']

/** Of a tool that does not say what it does. */
const ANY = -1

/** Effects as bits. */
export const effectBits = (effects: readonly Effect[] | undefined): number => {
  if (effects === undefined) return ANY
  let bits = 0
  for (const effect of effects) bits |= 1 << EFFECTS.indexOf(effect)
  return bits
}

const bitsOf = (effect: Effect | readonly Effect[] | undefined): number | undefined =>
  effect === undefined ? undefined : effectBits(typeof effect === 'string' ? [effect] : effect)

/** A predicate on a path, ready to be asked. */
export interface ArgumentTest {
  readonly path: ArgumentPath
  readonly predicate: Predicate
  readonly test: FitTest
}

export interface FilterOptions {
  readonly tool: Names
  readonly effect?: Effect | readonly Effect[] | undefined
  readonly declares?: Effect | readonly Effect[] | undefined
  readonly when?: When | undefined
}

/**
 * Which calls a rule, or its `after`, is about. One that belongs to a strict rule (deny, ask)
 * takes what could fit; one that belongs to an allowing rule only what does.
 */
export class CallFilter {
  readonly fitsName: NameTest
  readonly #effects: number | undefined
  readonly #declared: number | undefined
  readonly tests: readonly ArgumentTest[]

  constructor(
    readonly options: FilterOptions,
    readonly isStrict: boolean,
  ) {
    const { tool, effect, declares, when = {} } = options
    this.fitsName = nameTest(tool)
    this.#effects = bitsOf(effect)
    this.#declared = bitsOf(declares)
    this.tests = Object.entries(when).map(([path, predicate]) => ({
      path: new ArgumentPath(path),
      predicate,
      test: compilePredicate(predicate),
    }))
  }

  fits(call: JudgedCall): boolean {
    return this.fitsName(call.tool) && this.fitsRest(effectBits(call.effects), call.args)
  }

  /** For a call whose tool is known to fit. */
  fitsRest(effects: number, args: unknown): boolean {
    if (!this.fitsEffects(effects)) return false
    for (const test of this.tests) if (!this.holds(test, args)) return false
    return true
  }

  fitsEffects(effects: number): boolean {
    return (
      (this.#effects === undefined || this.#fitsBits(effects, this.#effects)) &&
      (this.#declared === undefined || (effects !== ANY && this.#fitsBits(effects, this.#declared)))
    )
  }

  #fitsBits(effects: number, wanted: number): boolean {
    return this.isStrict ? (effects & wanted) !== 0 : effects !== ANY && (effects & ~wanted) === 0
  }

  holds({ path, test }: ArgumentTest, args: unknown): boolean {
    if (path.isSingle) {
      const fit = test(path.valueIn(args))
      return this.isStrict ? fit !== NO : fit === YES
    }
    let count = 0
    const decided = path.each(args, (value) => {
      count += 1
      const fit = test(value)
      if (this.isStrict) return fit === NO ? undefined : true
      return fit === YES ? undefined : false
    })
    // Where nothing is, only `exists: false` holds.
    return decided ?? (count === 0 ? test(undefined) === YES : !this.isStrict)
  }
}
