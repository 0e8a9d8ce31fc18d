import type { ExitReason } from '@retake/tape/format'
import { RetakeError } from '@retake/engine/hook'

/** Why something is not allowed, and what would be. */
export interface Denial {
  readonly code: string
  /** The rule or scope that decided, as `policy/rule`. */
  readonly rule: string
  /** The refused action, as a sentence. */
  readonly what: string
  readonly why: string
  /** An alternative that would be allowed. */
  readonly allowed: string
  /** Set when a limit decided. */
  readonly exitReason?: ExitReason
}

type DenialText = readonly [
  rule: string,
  what: string,
  why: string,
  allowed: string,
  exitReason?: ExitReason,
]

/** Turns a table of texts by code into a table of functions that make the denials. */
export function denialTable<
  Table extends Readonly<Record<string, (...values: never[]) => DenialText>>,
>(
  table: Table,
): { readonly [Code in keyof Table]: (...values: Parameters<Table[Code]>) => Denial } {
  const factories = Object.entries(table).map(([code, text]) => [
    code,
    (...values: never[]): Denial => {
      const [rule, what, why, allowed, exitReason] = text(...values)
      return { code, rule, what, why, allowed, ...(exitReason && { exitReason }) }
    },
  ])
  return Object.fromEntries(factories) as ReturnType<typeof denialTable<Table>>
}

export const notStarted = (tool: string): string => `Tool "${tool}" was not started.`

/** A guarded call that was stopped: by policy, contract, limit or a missing approval. */
export class GuardError extends RetakeError {
  override readonly name = 'GuardError'
  readonly rule: string
  readonly exitReason: ExitReason | undefined

  constructor(denial: Denial, options?: ErrorOptions) {
    super(denial.code, denial.what, denial.why, denial.allowed, options)
    this.rule = denial.rule
    this.exitReason = denial.exitReason
  }

  /** An alternative that would be allowed. */
  get allowed(): string {
    return this.fix
  }

  /** Why it was stopped, as data. */
  get denial(): Denial {
    const { code, rule, what, why, fix: allowed, exitReason } = this
    return { code, rule, what, why, allowed, ...(exitReason && { exitReason }) }
  }
}
