import type { BlameFindings } from '@retake/tape'

/**
 * What the last search for the causes of a failed run came to, as its home keeps it.
 * Made by `readRunBlame` only, so whoever shows it need not doubt its form.
 */
export interface RunBlame {
  /** When the search ended, in epoch milliseconds. */
  readonly at: number
  /** What told pass from fail, as it was given. */
  readonly oracle: string
  readonly findings: BlameFindings
  readonly facts: SearchFactsView
}

/** How the search went; what is not known of it is missing. */
export interface SearchFactsView {
  /** Forks that were run for this search; the others had been run by an earlier one. */
  readonly newForks?: number
  /** Recorded answers that were given although the question had changed. */
  readonly forcedAnswers?: number
  readonly wallMs?: number
  /** Why forks came to no verdict, each reason with how often. */
  readonly undefinedBy: readonly { readonly reason: string; readonly count: number }[]
  /** How free steps were answered, as it was given. */
  readonly free: readonly string[]
}
