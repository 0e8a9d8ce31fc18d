import type { Effect, GuardVerdict } from '@retake/tape/format'
import type { FileScope, NetworkScope, ShellScope } from '../bounds/scopes.js'
import type { Limits } from '../limits/limits.js'

/**
 * Decides which calls run, as plain data. Scopes apply to every call; the first matching rule
 * decides.
 *
 *     name: refunds
 *     default: deny
 *     rules:
 *       - id: after-the-page
 *         deny: '*'
 *         effect: network
 *         after: { tool: read_secret }
 *       - allow: refund
 *         when: { amount: { atMost: 100 } }
 *       - ask: refund
 *         because: Refunds over 100 need a person.
 *
 * **When in doubt, a rule is strict.** With several values, effects or earlier calls, deny and ask
 * apply if any matches, allow only if all match. An unknown condition (is `"lots"` over 100?) is met
 * for deny and ask, and not for allow.
 */
export interface Policy {
  readonly name: string
  /** For calls that no rule matches; default `allow`. */
  readonly default?: GuardVerdict
  readonly rules?: readonly Rule[]
  /** Files that a tool may read and write. */
  readonly files?: FileScope
  /** Hosts that a tool may reach. */
  readonly network?: NetworkScope
  /** Programs that a tool may start. */
  readonly shell?: ShellScope
  readonly limits?: Limits
}

/** One name or more; `*` matches any characters. */
export type Names = string | readonly string[]

/** Has exactly one of `allow`, `deny` and `ask`. Other keys select calls. */
export interface Rule {
  /** Name in explanations; default its number in the list. */
  readonly id?: string
  /** Tools whose calls run. */
  readonly allow?: Names
  /** Tools whose calls never start. */
  readonly deny?: Names
  /** Tools whose calls wait for approval. */
  readonly ask?: Names
  /** Tools with one of these effects, or without a declaration; for allow, tools with no other effects. */
  readonly effect?: Effect | readonly Effect[]
  /** Like `effect`, but ignores tools that declare no effects. */
  readonly declares?: Effect | readonly Effect[]
  /** A predicate for each path into the arguments. All must hold. */
  readonly when?: When
  /**
   * Only after such a call in this run; of a list, after any (deny, ask) or all (allow). Deny and ask
   * count calls that are in progress, failed or in doubt; allow counts only calls that are done.
   */
  readonly after?: Earlier | readonly Earlier[]
  /** Applies from matching call n + 1 on: at most n calls. */
  readonly moreThan?: number
  /** `after` and `moreThan` consider only the last n calls. Denied calls do not count. */
  readonly within?: number
  /** Only if an argument contains text that these tools returned. Not for `allow`. */
  readonly tainted?: Names | Taint
  /** Reason in the explanation. */
  readonly because?: string
  /** Alternative in the explanation; by default derived from the rules. */
  readonly instead?: string
  /** The code of the error instead of `POLICY_DENIED`, such as `REFUND_TOO_HIGH`. */
  readonly code?: string
}

/**
 * A predicate for each path into the arguments: `amount`, `items.0.sku` or `items[0].sku`. `*` is
 * every member, `**.url` every `url` at any depth, `**` every value that is not a list or object, and
 * `.` the arguments themselves. Write a dot in a name as `\.`.
 */
export type When = Readonly<Record<string, Predicate>>

/** A value to be equal to, or conditions that must all hold. */
export type Predicate = string | number | boolean | null | Conditions

/** A missing value matches only `exists: false`. */
export interface Conditions {
  /** The same data, whatever the order of keys. */
  readonly equals?: unknown
  /** The predicate must not hold. */
  readonly not?: Predicate
  readonly in?: readonly unknown[]
  /** A regular expression that must match somewhere. Backreferences and lookaround are refused. */
  readonly matches?: string
  readonly startsWith?: string
  readonly endsWith?: string
  /** A part of a text, or a member of a list. */
  readonly contains?: string | number | boolean
  /** Compares texts without case. */
  readonly ignoreCase?: boolean
  readonly over?: number
  readonly under?: number
  readonly atLeast?: number
  readonly atMost?: number
  /** Characters of a text, bytes, or members of a list. */
  readonly longerThan?: number
  readonly shorterThan?: number
  readonly exists?: boolean
  readonly type?: ValueType | readonly ValueType[]
  readonly anyOf?: readonly Predicate[]
  readonly allOf?: readonly Predicate[]
  readonly noneOf?: readonly Predicate[]
}

export type ValueType =
  | 'string'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'null'
  | 'array'
  | 'object'
  | 'date'
  | 'bytes'

/** Selects earlier calls. All keys must match. */
export interface Earlier {
  readonly tool?: Names
  readonly effect?: Effect | readonly Effect[]
  readonly when?: When
}

export interface Taint {
  /** Tools whose results are untrusted. */
  readonly from: Names
  /** Shorter text is not tracked; default 12 characters, without white space. */
  readonly minLength?: number
  /** Paths of arguments; default all. */
  readonly in?: Names
}
