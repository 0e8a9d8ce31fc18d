import type { Effect, GuardVerdict } from '@retake/tape/format'
import type { FileScope } from '../bounds/scopes.js'
import type { NetworkScope } from '../bounds/scopes.js'
import type { ShellScope } from '../bounds/scopes.js'
import type { Limits } from '../limits/limits.js'

/**
 * Which calls are let through, as plain data: written in TypeScript or YAML,
 * hashed, and tried on recorded tapes. Scopes bind every call, whatever the rules
 * say; of the rules the first that matches decides.
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
 * One law applies throughout: **a rule errs on the strict side.** Where several
 * things could be meant (values at a path with `*`, effects of a tool, calls in a
 * list), a rule that denies or asks applies when any of them fits, one that allows
 * only when all of them do. Undecidable conditions (is the text `"lots"` over 100?) are met for
 * deny and ask, and not for allow.
 */
export interface Policy {
  readonly name: string
  /** For a call that no rule matches; `allow` unless set. */
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

/** Has exactly one of `allow`, `deny` and `ask`; everything else narrows down which calls it is about. */
export interface Rule {
  /** Named in explanations; its number in the list unless set. */
  readonly id?: string
  /** Tools whose calls run. */
  readonly allow?: Names
  /** Tools whose calls never start. */
  readonly deny?: Names
  /** Tools whose calls wait for somebody to approve them. */
  readonly ask?: Names
  /**
   * Only calls of tools with these effects. Deny and ask: with one of them, or that
   * declare none, since those may have any. Allow: that declare theirs, and have no other.
   */
  readonly effect?: Effect | readonly Effect[]
  /** Like `effect`, but never about tools that declare nothing: for those, leave it to scopes. */
  readonly declares?: Effect | readonly Effect[]
  /** Only calls whose arguments fit: a predicate for each path. All must hold. */
  readonly when?: When
  /**
   * Only once such a call was made in this run. Of a list: any of them (deny, ask), or all
   * (allow). Deny and ask count every call that was let through, also one that is
   * under way, failed or is in doubt; allow counts only those that are done.
   */
  readonly after?: Earlier | readonly Earlier[]
  /** Only from the call on that would be more than so many of those that this rule is about: at most n calls. */
  readonly moreThan?: number
  /** For `after` and `moreThan`: only the last n calls of the run count. Calls that were denied are none. */
  readonly within?: number
  /** Only when an argument contains text that an untrusted tool returned before: the tools, or more about it. Not for `allow`. */
  readonly tainted?: Names | Taint
  /** Told in the explanation. */
  readonly because?: string
  /** Suggestion in the explanation of what to do instead; derived from the rules unless set. */
  readonly instead?: string
  /** The code of the error instead of `POLICY_DENIED`, such as `REFUND_TOO_HIGH`. */
  readonly code?: string
}

/**
 * A predicate for each path into the arguments. `amount`, `customer.id`, `items.0.sku` or
 * `items[0].sku`; `*` is every member of a list or object, `**` any depth: `**.url` is every
 * `url` wherever it is, `**` alone every value that is no list or object. `.` is the
 * arguments themselves; a dot in a name is written `\.`.
 */
export type When = Readonly<Record<string, Predicate>>

/** A value to be equal to, or conditions that must all hold. */
export type Predicate = string | number | boolean | null | Conditions

/** A value that is not there fits no condition but `exists: false`. */
export interface Conditions {
  /** The same data, whatever the order of keys. */
  readonly equals?: unknown
  /** The predicate must not hold. */
  readonly not?: Predicate
  readonly in?: readonly unknown[]
  /**
   * A regular expression that must match somewhere in the text. It takes time in proportion to the
   * text whatever it says; what cannot be matched so (backreferences, lookaround) is refused.
   */
  readonly matches?: string
  readonly startsWith?: string
  readonly endsWith?: string
  /** A part of a text, or a member of a list. */
  readonly contains?: string | number | boolean
  /** Texts are compared without regard to case. */
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

/** Calls made before; with several of these, all must fit. */
export interface Earlier {
  readonly tool?: Names
  readonly effect?: Effect | readonly Effect[]
  readonly when?: When
}

export interface Taint {
  /** Tools whose results are not to be trusted. */
  readonly from: Names
  /** Text shorter than this is not followed; 12 characters unless set, white space not counted. */
  readonly minLength?: number
  /** Only these arguments, by path as in `when`; all unless set. */
  readonly in?: Names
}
