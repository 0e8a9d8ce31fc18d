import type { Effect, Verdict } from '@retake/tape'
import type { FileScope } from '../bounds/file-scope.js'
import type { NetworkScope } from '../bounds/network-scope.js'
import type { ShellScope } from '../bounds/shell-scope.js'
import type { Limits } from '../limits/limits.js'

/**
 * Which calls are let through, as plain data: written in TypeScript or YAML,
 * hashed, and tried on recorded tapes. Scopes bind every call, whatever the rules
 * say; of the rules the first that matches decides.
 */
export interface Policy {
  readonly name: string
  /** For a call that no rule matches; `allow` unless set. */
  readonly default?: Verdict
  readonly rules?: readonly Rule[]
  /** Files that a tool may read and write. */
  readonly files?: FileScope
  /** Hosts that a tool may reach. */
  readonly network?: NetworkScope
  /** Programs that a tool may start. */
  readonly shell?: ShellScope
  readonly limits?: Limits
}

/** One name or more; `*` stands for any characters. */
export type Names = string | readonly string[]

/** Has exactly one of `allow`, `deny` and `ask`; everything else narrows down which calls it is about. */
export interface Rule {
  /** Named in explanations; its number in the list unless set. */
  readonly id?: string
  readonly allow?: Names
  readonly deny?: Names
  readonly ask?: Names
  /** Only calls of tools with one of these effects. A tool that declares none may have any. */
  readonly effect?: Effect | readonly Effect[]
  /** Only calls whose arguments fit: a predicate for each path, such as `amount` or `items.*.sku`. */
  readonly when?: Readonly<Record<string, Predicate>>
  /** Only once such a call was made in this run. */
  readonly after?: Earlier | readonly Earlier[]
  /** Only from the call on that would be more than so many of those that this rule is about. */
  readonly moreThan?: number
  /** Only when an argument holds text that an untrusted tool returned before. */
  readonly tainted?: Taint
  /** Told in the explanation. */
  readonly because?: string
}

/** A value to be equal to, or conditions that must all hold. */
export type Predicate = string | number | boolean | null | Conditions

export interface Conditions {
  readonly equals?: unknown
  readonly not?: Predicate
  readonly in?: readonly unknown[]
  /** A regular expression that must match somewhere. */
  readonly matches?: string
  readonly startsWith?: string
  readonly contains?: string
  readonly over?: number
  readonly under?: number
  readonly longerThan?: number
  readonly exists?: boolean
}

/** Calls made before. */
export interface Earlier {
  readonly tool?: Names
  readonly effect?: Effect
  readonly when?: Readonly<Record<string, Predicate>>
}

export interface Taint {
  /** Tools whose results are not to be trusted. */
  readonly from: Names
  /** Text shorter than this is not followed; 12 characters unless set. */
  readonly minLength?: number
  /** Only these arguments; all unless set. */
  readonly in?: Names
}
