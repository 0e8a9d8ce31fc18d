/** A run that something else than its agent may end: `stopped` is never fulfilled, and rejected with why. */
export interface Stoppable {
  readonly stopped: Promise<never>
  readonly stop: (error: unknown) => void
}

export function stoppable(): Stoppable {
  let stop: (error: unknown) => void = () => {}
  const stopped = new Promise<never>((_, reject) => (stop = reject))
  // It may be stopped before anybody waits.
  stopped.catch(() => {})
  return { stopped, stop }
}
