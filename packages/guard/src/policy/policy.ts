import type { Effect, GuardVerdict } from '@retake/tape/guards'
import type { FileScope, NetworkScope, ShellScope } from '../bounds/scopes.js'
import type { Names } from '../data/name-pattern.js'
import type { Limits } from '../limits/limits.js'

/**
 * Plain data that decides which calls run. Scopes apply to every call; the first matching rule
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

/** Has exactly one of `allow`, `deny` and `ask`. The other keys select calls. */
export interface Rule {
  /** Name in explanations; default its number in the list. */
  readonly id?: string
  /** Tools whose calls run. */
  readonly allow?: Names
  /** Tools whose calls never start. */
  readonly deny?: Names
  /** Tools whose calls wait for approval. */
  readonly ask?: Names
  /** Deny and ask: tools that may have one of these effects. Allow: tools without other effects. */
  readonly effect?: Effect | readonly Effect[]
  /** Like `effect`, but ignores tools that declare no effects. */
  readonly declares?: Effect | readonly Effect[]
  /** A predicate for each path into the arguments. All must hold. */
  readonly when?: When
  /**
   * Only after such a call in this run; with a list, after any (deny, ask) or all (allow) of them.
   * Deny and ask count calls that are in progress, failed or in doubt; allow counts only done calls.
   */
  readonly after?: Earlier | readonly Earlier[]
  /** Applies from matching call n + 1 on: at most n calls. */
  readonly moreThan?: number
  /** Limits `after` and `moreThan` to the last n calls. Denied calls do not count. */
  readonly within?: number
  /** Only if an argument contains text that these tools returned. Not for `allow`. */
  readonly tainted?: Names | Taint
  /** Reason in the explanation. */
  readonly because?: string
  /** Alternative in the explanation; default: derived from the rules. */
  readonly instead?: string
  /** Error code such as `REFUND_TOO_HIGH`; default `POLICY_DENIED`. */
  readonly code?: string
}

/**
 * A predicate for each path into the arguments: `amount`, `items.0.sku` or `items[0].sku`. `*` is
 * every member, `**.url` every `url` at any depth, `**` every value that is not a list or object, and
 * `.` the arguments themselves. Write a dot in a name as `\.`.
 */
export type When = Readonly<Record<string, Predicate>>

/** A value that must be equal, or conditions that must all hold. */
export type Predicate = string | number | boolean | null | Conditions

/** A missing value matches only `exists: false`. */
export interface Conditions {
  /** Deep equality; the order of keys does not matter. */
  readonly equals?: unknown
  /** The predicate must not hold. */
  readonly not?: Predicate
  readonly in?: readonly unknown[]
  /** A regular expression that must match somewhere. Backreferences and lookaround are refused. */
  readonly matches?: string
  readonly startsWith?: string
  readonly endsWith?: string
  /** A substring of a string, or a member of a list. */
  readonly contains?: string | number | boolean
  /** Compares strings without case. */
  readonly ignoreCase?: boolean
  readonly over?: number
  readonly under?: number
  readonly atLeast?: number
  readonly atMost?: number
  /** Length of a string or byte array, or number of members. */
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
  /** Shorter text is not tracked; default 12 characters, not counting white space. */
  readonly minLength?: number
  /** Paths of arguments; default all. */
  readonly in?: Names
}
