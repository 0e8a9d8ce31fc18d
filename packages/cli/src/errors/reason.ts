/** What was thrown, as the why of an error says it. */
export const reason = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause)
