import { createHash } from 'node:crypto'
import path from 'node:path'
import type { Effect, GuardVerdict } from '@retake/tape/guards'
import { stableStringify, toWire } from '@retake/tape/format'
import { RetakeError } from '@retake/engine/hook'
import type { FileBounds } from '../bounds/file-bounds.js'
import type { NetworkBounds } from '../bounds/network-bounds.js'
import { policyScopes, type Scopes } from '../bounds/scopes.js'
import { type Denial, guardErrors } from '../denials/guard-error.js'
import type { Limits } from '../limits/limits.js'
import { ownData } from '../data/own-data.js'
import { startEvaluation } from '../data/argument-path.js'
import { CompiledRule, effectBits, type JudgedCall, type LookBackList } from './compiled-rule.js'
import { CallHistory, type LooksBack, type PastCall, wasMade } from './call-history.js'
import { describeDenial } from './describe-denial.js'
import { checkPolicy, namesInRules, type Policy } from './policy.js'
import { type DataProblem, problemText } from '@retake/engine/schema'

export class PolicyInvalid extends RetakeError {
  override readonly name = 'PolicyInvalid'

  constructor(readonly problems: readonly DataProblem[]) {
    super(
      'POLICY_INVALID',
      'The policy is not valid.',
      'A rule without effect would allow calls that it should stop.',
      'Correct the listed problems.',
      { details: problems.map((problem) => `  ${problemText(problem)}`) },
    )
  }

  static throwIfAny(policies: unknown): void {
    if (!Array.isArray(policies))
      throw new PolicyInvalid([
        { path: [], message: 'A policy must be an object, or a list of them.' },
      ])
    const problems = policies.flatMap((policy: unknown, index) =>
      checkPolicy(policy).map((problem) =>
        policies.length === 1 ? problem : { ...problem, path: [index, ...problem.path] },
      ),
    )
    if (problems.length > 0) throw new PolicyInvalid(problems)
  }
}

export type { JudgedCall } from './compiled-rule.js'

export interface PolicyJudgement {
  readonly verdict: GuardVerdict
  /** `policy/rule`; missing if a default decided. */
  readonly rule?: string
  /** Set unless the verdict is `allow`. */
  readonly denial?: Denial
}

/** A tool name in a rule or a limit. `allows`: it is an allow rule, for which a typo is harmless. */
export interface RuleName {
  readonly name: string
  readonly policy: string
  readonly allows: boolean
}

export const namesInLimits = (policy: string, limits: Limits | undefined): readonly RuleName[] =>
  Object.keys(limits?.tools ?? {}).map((name) => ({ name, policy, allows: false }))

/**
 * Compiled policies. The strictest verdict applies; of several denials, the first is reported. A
 * judgement depends only on the call and the history, except that file scopes follow links on disk.
 */
export class CompiledPolicy implements LooksBack {
  readonly hash: string
  readonly scopes: readonly Scopes[]
  readonly rules: readonly PolicyRules[]
  readonly watches: LooksBack['watches']
  readonly taints: LooksBack['taints']
  readonly #files: readonly Pick<FileBounds, 'inspect'>[]
  readonly #networks: readonly Pick<NetworkBounds, 'inspect'>[]

  /** Tool names in rules and limits that do not contain `*`. */
  get exactNames(): readonly RuleName[] {
    return this.policies.flatMap(({ name: policy, rules = [], limits }) => [
      ...namesInRules(rules)
        .filter(({ name }) => !name.includes('*'))
        .map(({ name, allows }) => ({ name, policy, allows })),
      ...namesInLimits(policy, limits),
    ])
  }

  constructor(readonly policies: readonly Policy[]) {
    PolicyInvalid.throwIfAny(policies)
    this.hash = policyHash(policies)
    const lookBack: LookBackList = { paths: new Map(), watches: [], taints: [] }
    this.rules = policies.map((policy) => new PolicyRules(policy, lookBack))
    this.watches = lookBack.watches
    this.taints = lookBack.taints
    this.scopes = policies.map(policyScopes)
    this.#files = this.scopes.flatMap(({ files }) => files ?? [])
    this.#networks = this.scopes.flatMap(({ network }) => network ?? [])
  }

  static of(policy: Policy | readonly Policy[]): CompiledPolicy {
    const own = ownData(policy)
    return new CompiledPolicy(Array.isArray(own) ? (own as readonly Policy[]) : [own as Policy])
  }

  /** `history` must have been created for this policy. */
  judge(call: JudgedCall, history: CallHistory): PolicyJudgement {
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

  /** Checks paths and URLs in the arguments, if the tool may use files or the network. */
  outside({ args, effects }: JudgedCall): Denial | undefined {
    const may = (...any: readonly Effect[]): boolean =>
      effects === undefined || any.some((effect) => effects.includes(effect))
    const inspectors = [
      ...(may('read', 'write', 'shell') ? this.#files : []),
      ...(may('network', 'shell') ? this.#networks : []),
    ]
    if (inspectors.length === 0) return undefined
    let left = TEXTS_MAX
    return eachText(args, '', (text, at) => {
      left -= 1
      if (left < 0) return guardErrors.GUARD_ARGUMENTS_TOO_LARGE(`more than ${TEXTS_MAX} texts`)
      for (const inspector of inspectors) {
        const denial = inspector.inspect(text, at)
        if (denial !== undefined) return denial
      }
      return undefined
    })
  }
}

const TEXTS_MAX = 100_000

/** Visits every string, URL and byte array in a value, until `visit` returns something. */
function eachText<T>(
  value: unknown,
  at: string,
  visit: (text: string, at: string) => T | undefined,
): T | undefined {
  if (typeof value === 'string') return visit(value, at)
  if (typeof value !== 'object' || value === null) return undefined
  if (value instanceof URL) return visit(value.href, at)
  if (ArrayBuffer.isView(value))
    return visit(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString(), at)
  const members: Iterable<[unknown, unknown]> =
    value instanceof Map
      ? value
      : value instanceof Set
        ? [...value].entries()
        : Object.entries(value)
  for (const [key, member] of members) {
    const found = eachText(member, at === '' ? String(key) : `${at}.${String(key)}`, visit)
    if (found !== undefined) return found
  }
  return undefined
}

const ALLOWED: PolicyJudgement = { verdict: 'allow' }

const TOOL_LIMIT = 1_000

/** The rules of one policy. The first matching rule decides. */
export class PolicyRules {
  readonly name: string
  readonly default: GuardVerdict
  readonly rules: readonly CompiledRule[]
  readonly #allowed: ReadonlyMap<CompiledRule, PolicyJudgement>
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

  judge(call: JudgedCall, history: CallHistory): PolicyJudgement {
    const effects = effectBits(call.effects)
    startEvaluation()
    let rules = this.#byTool.get(call.tool)
    if (rules === undefined) {
      rules = this.rules.filter(({ filter }) => filter.fitsName(call.tool))
      if (this.#byTool.size >= TOOL_LIMIT) this.#byTool.clear()
      this.#byTool.set(call.tool, rules)
    }
    for (const rule of rules) {
      if (!rule.matches(effects, call.args, history)) continue
      const { verdict, name } = rule
      return verdict === 'allow'
        ? (this.#allowed.get(rule) ?? ALLOWED)
        : { verdict, rule: name, denial: describeDenial(this, rule, call, history) }
    }
    return this.default === 'allow'
      ? ALLOWED
      : { verdict: this.default, denial: describeDenial(this, undefined, call, history) }
  }
}

/** Hash of policies, independent of the order of keys and of the project folder. */
export function policyHash(policies: readonly Policy[], folder = process.cwd()): string {
  const wire = stableStringify(toWire(portable(policies, folder)))
  return createHash('sha256').update(wire).digest('hex').slice(0, 16)
}

/** A copy with relative paths and without undefined members. */
function portable(data: unknown, folder: string): unknown {
  if (typeof data === 'string') {
    if (data === folder) return '.'
    if (!data.startsWith(folder)) return data
    const rest = data.slice(folder.length)
    const isBelow = folder.endsWith(path.sep) || rest.startsWith(path.sep) || rest.startsWith('/')
    if (!isBelow) return data
    const relative = rest.replace(/^[/\\]+/, '').replaceAll(path.sep, '/')
    return relative === '' ? '.' : relative
  }
  if (Array.isArray(data)) return data.map((each) => portable(each, folder))
  if (typeof data !== 'object' || data === null) return data
  const prototype: unknown = Object.getPrototypeOf(data)
  if (prototype !== null && prototype !== Object.prototype) return data
  return Object.fromEntries(
    Object.entries(data)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, portable(value, folder)]),
  )
}

/** A call with times, which may be any increasing numbers, such as those of events. */
interface TimedCall extends PastCall {
  /** Missing if the call did not overlap with others. */
  readonly began?: number
  /** Missing if the call has no result. */
  readonly ended?: number | undefined
}

/**
 * Judges recorded calls, with the history and concurrency of the recording. File scopes follow the
 * links that are on disk now.
 */
export function judgeCalls(
  policies: readonly Policy[],
  calls: readonly TimedCall[],
): readonly PolicyJudgement[] {
  const compiled = new CompiledPolicy(policies)
  const history = new CallHistory(compiled)
  const underWay = new Set<TimedCall>()
  return calls.map((call) => {
    const { began } = call
    const over = [...underWay]
      .filter(({ ended = Infinity }) => began !== undefined && ended < began)
      .toSorted((a, b) => (a.ended ?? 0) - (b.ended ?? 0))
    for (const each of over) {
      underWay.delete(each)
      history.add(each, each)
    }
    const judgement = compiled.judge(call, history)
    if (began === undefined) history.add(call)
    else if (wasMade(call)) {
      history.begin(call, call)
      underWay.add(call)
    }
    return judgement
  })
}
