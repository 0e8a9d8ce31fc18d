/** Why a fork or trial proves nothing: its agent did not get to an outcome that can be judged. */
export type Breakage =
  | { readonly code: 'timeout'; readonly seconds: number }
  | { readonly code: 'crashed' }
  | { readonly code: 'process-crashed' }
  | { readonly code: 'ended-early' }
  | { readonly code: 'rate-limited' }
  | { readonly code: 'out-of-budget' }
  /** `summary`: the divergence in words. */
  | { readonly code: 'diverged'; readonly summary: string }
  | { readonly code: 'changed-before-edit'; readonly summary: string }
  | { readonly code: 'unanswered'; readonly address: string; readonly why: string }
  /** A free step has no answer. `effect`: what `--live-tools` could allow. */
  | { readonly code: 'no-answer'; readonly what: string; readonly effect?: string | undefined }
  | { readonly code: 'refused-by-node'; readonly message: string }
  | { readonly code: 'not-started'; readonly what: string; readonly error: string }

export function breakageText(breakage: Breakage): string {
  switch (breakage.code) {
    case 'timeout':
      return `it took longer than ${breakage.seconds} s`
    case 'crashed':
      return 'it crashed'
    case 'process-crashed':
      return 'a process that it started crashed'
    case 'ended-early':
      return 'it ended before it reached a free step'
    case 'rate-limited':
      return 'the provider limits the rate'
    case 'out-of-budget':
      return 'out of budget'
    case 'diverged':
      return `it diverged: ${breakage.summary}`
    case 'changed-before-edit':
      return `it differs before the change: ${breakage.summary}`
    case 'unanswered':
      return `${breakage.address} was not answered: ${breakage.why}`
    case 'no-answer':
      return breakage.what
    case 'refused-by-node':
      return `Node's permission model refused something that the agent does (${breakage.message})`
    case 'not-started':
      return `${breakage.what} (${breakage.error})`
  }
}
