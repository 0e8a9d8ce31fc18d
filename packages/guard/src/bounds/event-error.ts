/** The error in an event that says that something failed: clients that tell listeners of it have such events. */
export function eventError(event: unknown): Error | undefined {
  if (typeof event !== 'object' || event === null) return undefined
  const { error } = event as { error?: unknown }
  return error instanceof Error ? error : undefined
}
