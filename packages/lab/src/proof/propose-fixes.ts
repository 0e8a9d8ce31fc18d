import { FIX_LAYERS, type FixCandidate, type FixContext } from './candidates.js'
import { codeOperators } from './operators/code.js'
import { contextOperators } from './operators/context.js'
import { dateAndMoneyOperators } from './operators/dates-and-money.js'
import { fieldOperators } from './operators/fields.js'
import { lifecycleOperators } from './operators/lifecycle.js'
import type { OperatorContext } from './operators/operator.js'
import { pageOperators } from './operators/pages.js'
import { pitfallOperators } from './operators/pitfalls.js'
import { policyOperators } from './operators/policy.js'
import { toolOperators } from './operators/tool.js'
import { transportOperators } from './operators/transport.js'
import { findSite, ParsedSource, stackSites } from './source-text.js'
import { failureOf, readStep } from './symptoms.js'

/** Maximum number of candidates per run, because each costs forks. */
const MAX_CANDIDATES = 12

const OPERATORS = [
  ...fieldOperators,
  ...transportOperators,
  ...policyOperators,
  ...toolOperators,
  ...pageOperators,
  ...contextOperators,
  ...lifecycleOperators,
  ...codeOperators,
  ...pitfallOperators,
  ...dateAndMoneyOperators,
]

/** The most likely candidates that need no model, cheapest and safest layer first. */
export function proposeFixes(context: FixContext): FixCandidate[] {
  const sources = context.sources
    .map((source) => ParsedSource.tryParse(source))
    .filter((source) => source !== undefined)
  const error = context.error ?? failureOf(context.run)
  const operatorContext: OperatorContext = {
    ...context,
    ...(error && { error }),
    sources,
    policies: context.sources.filter(
      ({ path, text }) => /\.ya?ml$/.test(path) && /^name:/m.test(text),
    ),
    steps: context.run.steps.map(readStep),
    thrownAt: stackSites(error?.stack)
      .map((site) => findSite(sources, site))
      .filter((at) => at !== undefined),
  }
  const found = OPERATORS.flatMap((operator) => operator(operatorContext))
  const unique = [
    ...new Map(found.toReversed().map((each) => [each.id, each])).values(),
  ].toReversed()
  // Round-robin over operators: the first candidate of each comes before the second of any.
  const turns = new Map<string, number>()
  const ranked = unique.map((candidate) => {
    const turn = turns.get(candidate.operator) ?? 0
    turns.set(candidate.operator, turn + 1)
    const known = context.symptoms.findIndex((symptom) => symptom.class === candidate.symptom)
    return { candidate, turn, rank: known < 0 ? context.symptoms.length : known }
  })
  return ranked
    .toSorted((left, right) => left.turn - right.turn || left.rank - right.rank)
    .slice(0, MAX_CANDIDATES)
    .map(({ candidate }) => candidate)
    .toSorted((left, right) => FIX_LAYERS.indexOf(left.layer) - FIX_LAYERS.indexOf(right.layer))
}
