/** Thrown inside a search when it may not fork any more; what is known by then is the result. */
export class SearchStopped extends Error {
  override readonly name = 'SearchStopped'

  /** `why` is a sentence for people. */
  constructor(readonly why: string) {
    super(why)
  }
}
