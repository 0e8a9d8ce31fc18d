import type { RunCard, RunRepository } from '@retake/web'

/**
 * Functions that the package `retake` passes to the server, so that this package does not depend on
 * it: reading tapes, and running commands on them.
 */
export interface RetakeParts {
  readonly version: string
  /** Starts `retake`: the program and its first arguments. */
  readonly command: readonly string[]
  /** Folders with its code, and where the packages are that agents import. */
  readonly code: {
    readonly folders: readonly string[]
    readonly packages: Readonly<Record<string, string>>
  }
  /** Module that Node preloads in a sandbox, and that forwards addresses as RETAKE_FORWARDING says. */
  readonly forwarder: string
  /** Needs of the program of a run when it goes live. */
  needsOf(tape: string): ProgramNeeds
  /** Facts of a run for lists and search. Rejects with the reason if the tape cannot be accepted. */
  describe(tape: string): Promise<RunFacts>
  /** Secrets in a file, as lines without the secrets themselves. */
  findSecrets(file: string): Promise<readonly string[]>
  repository(folder: string): RunRepository
}

export interface ProgramNeeds {
  readonly models: readonly {
    readonly host: string
    readonly port: number
    readonly isEncrypted: boolean
  }[]
  /** True if it sends requests to anything else. */
  readonly sendsRequests: boolean
  /** Values from the tape in place of the secrets that it reads from its environment. */
  readonly placeholders: Readonly<Record<string, string>>
}

export interface RunFacts {
  readonly card: RunCard
  readonly events: number
  readonly tools: readonly string[]
  /** Failures with the same detector, site and program share it. */
  readonly cluster?: string
  /** Messages, arguments and output, shortened. */
  readonly text: string
}
