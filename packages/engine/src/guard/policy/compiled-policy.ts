import { createHash } from 'node:crypto'
import { stableStringify, toWire, type Effect, type Verdict } from '@retake/tape'
import { eachText } from '../bounds/each-text.js'
import { fileBounds } from '../bounds/file-bounds.js'
import { networkBounds } from '../bounds/network-bounds.js'
import type { Scopes } from '../bounds/scopes.js'
import { shellBounds } from '../bounds/shell-bounds.js'
import type { Denial } from '../guard-error.js'
import type { CallHistory } from './call-history.js'
import { matchesName } from './matches-name.js'
import type { Policy, Rule } from './policy.js'

/** A call as a policy sees it, before it runs. */
export interface JudgedCall {
  readonly tool: string
  readonly args: unknown
  /** What the tool says it does; undefined when it does not say. */
  readonly effects: readonly Effect[] | undefined
}

export interface Judgement {
  readonly verdict: Verdict
  /** `policy/rule`; missing when a default decided. */
  readonly rule?: string
  /** Set unless the verdict is `allow`. */
  readonly denial?: Denial
}

/** Policies, ready to judge calls. Of several the strictest verdict holds. */
export class CompiledPolicy {
  /** Of all rules as data; the first 16 hex digits of a sha256. */
  readonly hash: string
  readonly scopes: readonly Scopes[]
  readonly #inspectors: readonly NonNullable<Scopes['files' | 'network' | 'shell']>[]

  constructor(readonly policies: readonly Policy[]) {
    this.hash = createHash('sha256')
      .update(stableStringify(toWire(policies)))
      .digest('hex')
      .slice(0, 16)
    this.scopes = policies.map(scopesOf)
    this.#inspectors = this.scopes.flatMap(({ files, network, shell }) =>
      [files, network, shell].filter((each) => each !== undefined),
    )
  }

  judge(call: JudgedCall, history: CallHistory): Judgement {
    const outside = this.#inspect(call.args)
    if (outside !== undefined) return { verdict: 'deny', rule: outside.rule, denial: outside }
    let strictest: Judgement = { verdict: 'allow' }
    for (const policy of this.policies) {
      const judgement = judgeBy(policy, call, history)
      if (judgement.verdict === 'deny') return judgement
      if (judgement.verdict === 'ask' || strictest.rule === undefined) strictest = judgement
    }
    return strictest
  }

  /** Looks at the arguments for what the scopes forbid, before the tool starts. */
  #inspect(args: unknown): Denial | undefined {
    if (this.#inspectors.length === 0) return undefined
    return eachText(args, (text, at) => {
      for (const inspector of this.#inspectors) {
        const denial = inspector.inspect(text, at)
        if (denial !== undefined) return denial
      }
      return undefined
    })
  }
}

const scopesOf = ({ name, files, network, shell }: Policy): Scopes => ({
  ...(files && { files: fileBounds(name, files) }),
  ...(network && { network: networkBounds(name, network) }),
  ...(shell && { shell: shellBounds(name, shell) }),
})

function judgeBy(policy: Policy, call: JudgedCall, _history: CallHistory): Judgement {
  const rules = policy.rules ?? []
  for (const [index, rule] of rules.entries()) {
    const verdict = verdictOf(rule)
    if (!matchesName(rule[verdict] ?? [], call.tool)) continue
    const name = `${policy.name}/${rule.id ?? index + 1}`
    return verdict === 'allow'
      ? { verdict, rule: name }
      : { verdict, rule: name, denial: denialOf(call, name, rule.because) }
  }
  const verdict = policy.default ?? 'allow'
  return verdict === 'allow'
    ? { verdict }
    : { verdict, denial: denialOf(call, `${policy.name}/default`, undefined) }
}

const verdictOf = (rule: Rule): Verdict =>
  rule.deny !== undefined ? 'deny' : rule.ask !== undefined ? 'ask' : 'allow'

const denialOf = (call: JudgedCall, rule: string, because: string | undefined): Denial => ({
  code: 'POLICY_DENIED',
  rule,
  what: `Tool "${call.tool}" was not started.`,
  why: because ?? `Rule ${rule} does not allow it.`,
  allowed: 'Call a tool that the policy allows, or change the rule.',
})
