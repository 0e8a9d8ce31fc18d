/** An abort signal that is only made when somebody looks at it: most tools never do. */
export class LazySignal {
  #controller: AbortController | undefined
  #reason: { readonly reason: unknown } | undefined

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason.reason)
    }
    return this.#controller.signal
  }

  /** Listeners run at once, in the context this is called in. */
  abort(reason: unknown): void {
    this.#reason ??= { reason }
    this.#controller?.abort(reason)
  }
}
