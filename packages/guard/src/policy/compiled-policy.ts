import type { Effect, Verdict } from '@retake/tape'
import { eachText } from '../bounds/each-text.js'
import { fileBounds } from '../bounds/file-bounds.js'
import { networkBounds } from '../bounds/network-bounds.js'
import type { Scopes } from '../bounds/scopes.js'
import { shellBounds } from '../bounds/shell-bounds.js'
import { GuardError, type Denial } from '../guard-error.js'
import { lookAnew } from './argument-path.js'
import { effectBits, type JudgedCall } from './call-filter.js'
import type { CallHistory, LooksBack } from './call-history.js'
import { CompiledRule, type LookBackList } from './compiled-rule.js'
import type { Policy } from './policy.js'
import { policyHash } from './policy-hash.js'
import { PolicyInvalid } from './policy-invalid.js'
import { tellDefault, tellDenial } from './tell-denial.js'

export type { JudgedCall } from './call-filter.js'

export interface Judgement {
  readonly verdict: Verdict
  /** `policy/rule`; missing when a default decided. */
  readonly rule?: string
  /** Set unless the verdict is `allow`. */
  readonly denial?: Denial
}

/**
 * Policies, ready to judge calls. Of several the strictest verdict holds, and of
 * several denials the first is told. What it says depends on the call and the history alone,
 * but for file scopes, which follow the links that are on disk.
 */
export class CompiledPolicy implements LooksBack {
  readonly hash: string
  readonly scopes: readonly Scopes[]
  readonly rules: readonly PolicyRules[]
  readonly watches: LooksBack['watches']
  readonly taints: LooksBack['taints']
  readonly #files: readonly NonNullable<Scopes['files']>[]
  readonly #networks: readonly NonNullable<Scopes['network']>[]

  /** Throws `POLICY_INVALID` when one of them cannot be used. */
  constructor(readonly policies: readonly Policy[]) {
    PolicyInvalid.throwIfAny(policies)
    this.hash = policyHash(policies)
    const lookBack: LookBackList = { paths: new Map(), watches: [], taints: [] }
    this.rules = policies.map((policy) => new PolicyRules(policy, lookBack))
    this.watches = lookBack.watches
    this.taints = lookBack.taints
    this.scopes = policies.map(scopesOf)
    this.#files = this.scopes.flatMap(({ files }) => files ?? [])
    this.#networks = this.scopes.flatMap(({ network }) => network ?? [])
  }

  /** One policy or several, as people hand them in. */
  static of(policy: Policy | readonly Policy[]): CompiledPolicy {
    return new CompiledPolicy(
      Array.isArray(policy) ? (policy as readonly Policy[]) : [policy as Policy],
    )
  }

  /** The history must be one of this policy. */
  judge(call: JudgedCall, history: CallHistory): Judgement {
    if (history.policy !== this) history.keepFor(this)
    const outside = this.outside(call)
    if (outside !== undefined) return { verdict: 'deny', rule: outside.rule, denial: outside }
    let strictest = ALLOWED
    for (const rules of this.rules) {
      const judgement = rules.judge(call, history)
      if (judgement.verdict === 'deny') return judgement
      const isStricter = judgement.verdict === 'ask' && strictest.verdict === 'allow'
      if (isStricter || (strictest.verdict === judgement.verdict && strictest.rule === undefined))
        strictest = judgement
    }
    return strictest
  }

  /**
   * Looks at the arguments for what the scopes forbid, before the tool starts. A tool that declares
   * effects, and neither files nor network among them, has no use for paths or hosts in its arguments.
   */
  outside({ args, effects }: JudgedCall): Denial | undefined {
    const may = (...any: readonly Effect[]): boolean =>
      effects === undefined || any.some((effect) => effects.includes(effect))
    const inspectors = [
      ...(may('read', 'write', 'shell') ? this.#files : []),
      ...(may('network', 'shell') ? this.#networks : []),
    ]
    if (inspectors.length === 0) return undefined
    try {
      return eachText(args, (text, at) => {
        for (const inspector of inspectors) {
          const denial = inspector.inspect(text, at)
          if (denial !== undefined) return denial
        }
        return undefined
      })
    } catch (error) {
      // More than can be looked through is refused, not passed on unseen.
      if (!(error instanceof GuardError)) throw error
      const { code, rule, what, why, allowed } = error
      return { code, rule, what, why, allowed }
    }
  }
}

const ALLOWED: Judgement = { verdict: 'allow' }

/** How many tools are remembered with the rules whose names fit them. */
const TOOL_LIMIT = 1_000

/** The rules of one policy. The first that matches decides. */
export class PolicyRules {
  readonly name: string
  readonly default: Verdict
  readonly rules: readonly CompiledRule[]
  readonly #allowed: ReadonlyMap<CompiledRule, Judgement>
  readonly #byTool = new Map<string, readonly CompiledRule[]>()

  constructor({ name, default: verdict = 'allow', rules = [] }: Policy, lookBack: LookBackList) {
    this.name = name
    this.default = verdict
    this.rules = rules.map(
      (rule, index) => new CompiledRule(rule, `${name}/${rule.id ?? index + 1}`, lookBack),
    )
    this.#allowed = new Map(
      this.rules.map((rule) => [rule, { verdict: 'allow', rule: rule.name }] as const),
    )
  }

  judge(call: JudgedCall, history: CallHistory): Judgement {
    const effects = effectBits(call.effects)
    lookAnew()
    for (const rule of this.#rulesFor(call.tool)) {
      if (!rule.matches(effects, call.args, history)) continue
      const { verdict, name } = rule
      return verdict === 'allow'
        ? (this.#allowed.get(rule) ?? ALLOWED)
        : { verdict, rule: name, denial: tellDenial(this, rule, call, history) }
    }
    return this.default === 'allow'
      ? ALLOWED
      : { verdict: this.default, denial: tellDefault(this, call) }
  }

  /** Names are compared once for each tool. */
  #rulesFor(tool: string): readonly CompiledRule[] {
    const known = this.#byTool.get(tool)
    if (known !== undefined) return known
    const rules = this.rules.filter(({ filter }) => filter.fitsName(tool))
    if (this.#byTool.size >= TOOL_LIMIT) this.#byTool.clear()
    this.#byTool.set(tool, rules)
    return rules
  }
}

const scopesOf = ({ name, files, network, shell }: Policy): Scopes => ({
  ...(files && { files: fileBounds(name, files) }),
  ...(network && { network: networkBounds(name, network) }),
  ...(shell && { shell: shellBounds(name, shell) }),
})
