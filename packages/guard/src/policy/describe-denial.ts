import type { GuardVerdict } from '@retake/tape/format'
import type { Denial } from '../guard-error.js'
import type { JudgedCall } from './call-filter.js'
import type { CallHistory } from './call-history.js'
import { earlierOf, namesOf, taintOf, type CompiledRule } from './compiled-rule.js'
import { oppositeWords, predicateWords } from './predicate-words.js'
import { earlierWords, matchOf, nameList } from './rule-match.js'

/** A policy as far as an explanation needs it. */
export interface DescribedPolicy {
  readonly name: string
  readonly default: GuardVerdict
  readonly rules: readonly CompiledRule[]
}

/** Why a rule stops a call or asks about it, and what would be allowed. */
export function describeDenial(
  policy: DescribedPolicy,
  rule: CompiledRule,
  call: JudgedCall,
  history: CallHistory,
): Denial {
  const { because, code = 'POLICY_DENIED' } = rule.rule
  const { reasons } = matchOf(rule, call, history)
  const why = [...(because === undefined ? [] : [because]), ...reasons.map(capital)].map(sentence)
  return {
    code,
    rule: rule.name,
    what: whatOf(call, rule.verdict),
    why: why.join(' ') || `Rule ${rule.name} ${VERBS[rule.verdict]} it.`,
    allowed: allowedInstead(policy, rule, call),
  }
}

/** The same where no rule matched and the policy's default decides. */
export function describeDefault(policy: DescribedPolicy, call: JudgedCall): Denial {
  return {
    code: 'POLICY_DENIED',
    rule: `${policy.name}/default`,
    what: whatOf(call, policy.default),
    why: `No rule of policy ${policy.name} allows it.`,
    allowed: allowedInstead(policy, undefined, call),
  }
}

const VERBS = { allow: 'allows', deny: 'denies', ask: 'asks about' }

const whatOf = ({ tool }: JudgedCall, verdict: GuardVerdict): string =>
  verdict === 'ask'
    ? `Tool "${tool}" needs approval before it starts.`
    : `Tool "${tool}" was not started.`

function allowedInstead(
  policy: DescribedPolicy,
  rule: CompiledRule | undefined,
  { tool }: JudgedCall,
): string {
  if (rule?.rule.instead !== undefined) return sentence(rule.rule.instead)
  const others = policy.rules.filter((each) => each !== rule && each.filter.fitsName(tool))
  const allowing = others.filter(({ verdict }) => verdict === 'allow')
  const prompting = others.filter(({ verdict }) => verdict === 'ask')
  const mayRun =
    policy.default === 'allow' ||
    [...allowing, ...prompting].some((each) => conditionsOfRule(each).length === 0)
  const ways = [
    ...(rule !== undefined && mayRun ? otherwise(rule) : []),
    ...allowing.flatMap(conditionsOfRule),
    ...(rule === undefined || rule.verdict === 'deny' ? prompting.flatMap(promptWords) : []),
  ]
  if (rule?.verdict === 'ask' || (rule === undefined && policy.default === 'ask'))
    return sentence(['Ask for approval', ...ways].join(', or '))
  if (ways.length > 0) return sentence(`Allowed: ${[...new Set(ways)].join(', or ')}`)
  const names = policy.rules
    .filter(({ verdict }) => verdict === 'allow')
    .flatMap((each) => namesOf(each.names))
  if (names.length > 0) return sentence(`Allowed: tools ${[...new Set(names)].join(', ')}`)
  return policy.default === 'allow' && rule !== undefined && !namesOf(rule.names).includes('*')
    ? 'Allowed: any other tool.'
    : 'Nothing like it is allowed; change the policy if it should be.'
}

/** Conditions under which the rule would not apply. */
function otherwise({ rule, names, filter }: CompiledRule): string[] {
  const { effect, declares, moreThan, within, after, tainted } = rule
  return [
    ...filter.tests.map(
      ({ path, predicate }) => `${path.text} ${oppositeWords(predicate, path.text)}`,
    ),
    ...(effect === undefined
      ? []
      : [`tools that declare their effects, none of them ${[effect].flat().join(' or ')}`]),
    ...(declares === undefined
      ? []
      : [`tools that do not declare ${[declares].flat().join(' or ')}`]),
    ...(moreThan === undefined
      ? []
      : [
          `at most ${moreThan} ${moreThan === 1 ? 'call' : 'calls'} of ${nameList(names)}${within === undefined ? '' : ` among ${within}`}`,
        ]),
    ...(after === undefined
      ? []
      : [
          within === undefined
            ? `such a call before ${earlierOf(after).map(earlierWords).join(' and ')}`
            : `such a call later than ${within} calls after ${earlierOf(after).map(earlierWords).join(' and ')}`,
        ]),
    ...(tainted === undefined
      ? []
      : [`arguments that are not copied from what ${nameList(taintOf(tainted).from)} returned`]),
  ]
}

/** Conditions of a rule that allows this tool. */
function conditionsOfRule({ rule, filter }: CompiledRule): string[] {
  const parts = [
    ...filter.tests.map(
      ({ path, predicate }) => `${path.text} ${predicateWords(predicate, path.text)}`,
    ),
    ...(rule.effect === undefined ? [] : [`effects ${[rule.effect].flat().join(', ')} only`]),
    ...(rule.after === undefined
      ? []
      : [`a call after ${earlierOf(rule.after).map(earlierWords).join(' and ')}`]),
  ]
  return parts.length === 0 ? [] : [parts.join(' and ')]
}

const promptWords = (rule: CompiledRule): string[] => {
  const [conditions] = conditionsOfRule(rule)
  return [conditions === undefined ? 'ask for approval' : `${conditions} with approval`]
}

/** With a full stop. */
const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** Text that begins with the name of an argument or a tool does not change its case. */
const capital = (reason: string): string =>
  /^(?:a call of|it would be|more text came) /.test(reason)
    ? reason.charAt(0).toUpperCase() + reason.slice(1)
    : reason
