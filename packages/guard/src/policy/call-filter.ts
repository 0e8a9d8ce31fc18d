import type { Effect } from '@retake/tape/format'
import { ArgumentPath, SEVERAL, startLook, UNREADABLE } from './argument-path.js'
import { compilePredicate } from './compile-predicate.js'
import { NO, UNKNOWN, YES, type FitTest } from './fit.js'
import { nameTest, type NameTest } from './name-pattern.js'
import type { Names, Predicate, When } from './policy.js'

/** A call as a policy sees it, before it runs. */
export interface JudgedCall {
  readonly tool: string
  readonly args: unknown
  /** Effects that the tool declares; undefined if it declares none. */
  readonly effects: readonly Effect[] | undefined
}

export const EFFECTS: readonly Effect[] = ['read', 'write', 'network', 'shell', 'spend']

const ANY = -1

/** Effects as bits. */
export const effectBits = (effects: readonly Effect[] | undefined): number => {
  if (effects === undefined) return ANY
  let bits = 0
  for (const effect of effects) {
    const index = EFFECTS.indexOf(effect)
    // An unknown effect could mean anything.
    if (index < 0) return ANY
    bits |= 1 << index
  }
  return bits
}

const bitsOf = (effect: Effect | readonly Effect[] | undefined): number | undefined =>
  effect === undefined ? undefined : effectBits(typeof effect === 'string' ? [effect] : effect)

/** A compiled predicate on a path. */
export interface ArgumentTest {
  readonly path: ArgumentPath
  readonly predicate: Predicate
  readonly test: FitTest
}

/** Compiled paths by their text, shared between rules. */
export type PathList = Map<string, ArgumentPath>

function pathFrom(paths: PathList, text: string): ArgumentPath {
  let path = paths.get(text)
  if (path === undefined) paths.set(text, (path = new ArgumentPath(text)))
  return path
}

export interface FilterOptions {
  readonly tool: Names
  readonly effect?: Effect | readonly Effect[] | undefined
  readonly declares?: Effect | readonly Effect[] | undefined
  readonly when?: When | undefined
}

/** Selects the calls of a rule or its `after`. For deny and ask, unknown counts as a match; for allow not. */
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
    const { tool, effect, declares, when = {} } = options
    this.fitsName = nameTest(tool)
    this.#effects = bitsOf(effect)
    this.#declared = bitsOf(declares)
    this.tests = Object.entries(when).map(([path, predicate]) => ({
      path: pathFrom(paths, path),
      predicate,
      test: compilePredicate(predicate),
    }))
  }

  fits(call: JudgedCall): boolean {
    startLook()
    return this.fitsName(call.tool) && this.fitsRest(effectBits(call.effects), call.args)
  }

  /** For a call whose tool matches. */
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
    if (path.isSingle) {
      const value = path.valueIn(args)
      if (value !== SEVERAL) {
        const fit = test(value)
        return this.isStrict ? fit !== NO : fit === YES
      }
    }
    const values = path.valuesIn(args)
    // A missing value only matches `exists: false`.
    if (values.length === 0) return test(undefined) === YES
    for (const value of values) {
      const fit = value === UNREADABLE ? UNKNOWN : test(value)
      if (this.isStrict && fit !== NO) return true
      if (!this.isStrict && fit !== YES) return false
    }
    return !this.isStrict
  }
}
