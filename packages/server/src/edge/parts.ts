import type { RunCard } from '@retake/tape'
import type { ApprovalTexts } from '@retake/runner/command-line'
import type { RunRepository } from '@retake/web'

/**
 * Functions that the package `retake` passes in, so that this package does not depend on it: reading
 * tapes and running commands.
 */
export interface RetakeParts {
  readonly version: string
  /** The program that starts `retake`, and its first arguments. */
  readonly command: readonly string[]
  /** Folders with the code of Retake, and the packages that agents import. */
  readonly code: {
    readonly folders: readonly string[]
    readonly packages: Readonly<Record<string, string>>
  }
  /** Module to preload in a sandbox. It forwards the addresses in RETAKE_FORWARDING. */
  readonly forwarder: string
  /** Needs of a run's program when it goes live. */
  needsOf(tape: string): ProgramNeeds
  /** Facts for lists and search. Rejects if the tape cannot be accepted. */
  describe(tape: string): Promise<RunFacts>
  /** Describes the secrets in a file, without the secrets themselves. */
  findSecrets(file: string): Promise<readonly string[]>
  repository(folder: string): RunRepository
  /** Missing if no capability provides it: nothing can be approved. */
  readonly approvals?: ApprovalTexts
}

export interface ProgramNeeds {
  readonly models: readonly {
    readonly host: string
    readonly port: number
    readonly isEncrypted: boolean
  }[]
  /** True if it sends requests other than to models. */
  readonly sendsRequests: boolean
  /** Recorded stand-ins for the secrets that it reads from its environment. */
  readonly placeholders: Readonly<Record<string, string>>
}

export interface RunFacts {
  readonly card: RunCard
  readonly events: number
  readonly tools: readonly string[]
  /** The same for failures with the same detector, site and program. */
  readonly cluster?: string
  /** Shortened messages, arguments and output, for search. */
  readonly text: string
}
