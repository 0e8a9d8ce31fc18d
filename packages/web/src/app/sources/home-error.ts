import type { Explained } from '../../model/run-head.js'

/**
 * What a home says when it cannot answer: that a run is gone, a tape is corrupt,
 * the server does not answer. Pages show `what`, `why` and `fix` as they are.
 */
export class HomeError extends Error implements Explained {
  override readonly name = 'HomeError'
  readonly code: string
  readonly what: string
  readonly why?: string
  readonly fix?: string
  /** The HTTP status it came with; undefined when no answer came. */
  readonly status: number | undefined

  constructor({ code, what, why, fix }: Explained, status?: number) {
    super(what)
    this.code = code
    this.what = what
    if (why !== undefined) this.why = why
    if (fix !== undefined) this.fix = fix
    this.status = status
  }
}
