/** Throws what a tool has thrown, which need not be an error. */
export function rethrow(thrown: unknown): never {
  throw thrown
}
