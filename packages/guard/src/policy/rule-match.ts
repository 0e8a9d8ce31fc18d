import { lookAnew, argumentText } from './argument-path.js'
import { effectBits, type ArgumentTest, type CallFilter, type JudgedCall } from './call-filter.js'
import type { CallHistory } from './call-history.js'
import { earlierOf, namesOf, taintOf, type CompiledRule } from './compiled-rule.js'
import { YES } from './fit.js'
import type { Earlier } from './policy.js'
import { predicateWords } from './predicate-words.js'
import { shownValue } from './shown-value.js'

/** Decides whether a rule applies to a call, with the reasons for or against it. */
export interface RuleMatch {
  readonly matched: boolean
  /** Every reason when it matched, otherwise what is in the way. Never contains a value that looks secret. */
  readonly reasons: readonly string[]
}

/** Tells in words what `CompiledRule.matches` only answers. */
export function matchOf(rule: CompiledRule, call: JudgedCall, history: CallHistory): RuleMatch {
  const { filter } = rule
  lookAnew()
  const reasons: string[] = []
  const against = (reason: string): RuleMatch => ({ matched: false, reasons: [reason] })
  if (!filter.fitsName(call.tool)) return against(`the rule is about ${nameList(rule.names)}`)
  const { effect, declares, moreThan, within, after, tainted } = rule.rule
  const wanted = effect ?? declares
  if (wanted !== undefined) {
    const says =
      call.effects === undefined
        ? `${call.tool} does not say what it does`
        : `${call.tool} says that its effects are ${call.effects.join(', ') || 'none'}`
    if (!filter.fitsEffects(effectBits(call.effects)))
      return against(`${says}; the rule is about ${[wanted].flat().join(', ')}`)
    const isUnknown = effect !== undefined && call.effects === undefined
    reasons.push(isUnknown ? `${says}, so it may have any effect` : says)
  }
  for (const test of filter.tests) {
    if (!filter.passes(test, call.args)) return against(mismatch(filter, test, call.args))
    reasons.push(fitting(filter, test, call.args))
  }
  const window = within === undefined ? '' : ` among the last ${within} calls`
  if (moreThan !== undefined) {
    const about = `${moreThan} ${moreThan === 1 ? 'call' : 'calls'} of ${nameList(rule.names)}${window}`
    if (!rule.countMatches(history)) return against(`it is not more than ${about}`)
    reasons.push(`it would be more than ${about}`)
  }
  if (after !== undefined) {
    const about = earlierOf(after)
      .map(earlierWords)
      .join(rule.verdict === 'allow' ? ' and ' : ' or ')
    if (!rule.afterMatches(history)) return against(`no call of ${about} came before${window}`)
    reasons.push(`a call of ${about} came before${window}`)
  }
  if (tainted !== undefined) {
    const found = rule.taintFound(call.args, history)
    const from = nameList(taintOf(tainted).from)
    if (found === false || found === undefined)
      return against(`no argument holds text that ${from} returned`)
    const { at, text, source } = found
    const by = source?.by === undefined ? '' : `, by way of ${source.by}`
    reasons.push(
      source === undefined
        ? `more text came from ${from} than can be followed, so ${at} may hold some of it`
        : `${at} holds text that ${source.tool} returned${by}: ${shownValue(text, at)}`,
    )
  }
  return { matched: true, reasons }
}

/** The first value that fits, and where. */
function fitting({ isStrict }: CallFilter, test: ArgumentTest, args: unknown): string {
  const words = predicateWords(test.predicate, test.path.text)
  const found = test.path.each(args, (value, at) => {
    const fit = test.test(value)
    if (fit === 0) return undefined
    const where = argumentText(at)
    const shown = shownValue(value, where)
    if (fit === YES) return `${where} is ${shown}${isSaid(shown, words) ? '' : `, ${words}`}`
    return isStrict
      ? `${where} is ${shown}, of which nobody can tell that it is not ${words}`
      : undefined
  })
  return found ?? `${test.path.text} is not given`
}

const isSaid = (shown: string, words: string): boolean => shown === words

/** The first value that does not fit, and where. */
function mismatch({ isStrict }: CallFilter, test: ArgumentTest, args: unknown): string {
  const words = predicateWords(test.predicate, test.path.text)
  const found = test.path.each(args, (value, at) =>
    isStrict || test.test(value) !== YES
      ? `${argumentText(at)} is ${shownValue(value, argumentText(at))}`
      : undefined,
  )
  return `${found ?? `${test.path.text} is not given`}; the rule is about ${words}`
}

export const nameList = (names: string | readonly string[]): string => {
  const list = namesOf(names)
  return list.includes('*') ? 'any tool' : list.join(', ')
}

/** Calls made before, as part of a sentence. */
export function earlierWords({ tool = '*', effect, when = {} }: Earlier): string {
  const effects = effect === undefined ? '' : ` (effect ${[effect].flat().join(' or ')})`
  const conditions = Object.entries(when).map(
    ([path, predicate]) => `${path} ${predicateWords(predicate, path)}`,
  )
  return `${nameList(tool)}${effects}${conditions.length === 0 ? '' : ` with ${conditions.join(' and ')}`}`
}
