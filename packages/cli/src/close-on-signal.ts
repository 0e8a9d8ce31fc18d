import type { Probe } from '@retake/engine/inspect'

/** Ctrl-C ends the process that is looked into; the signal is remembered. */
export function closeOnSignal(probe: Probe): { signal: NodeJS.Signals | undefined; undo(): void } {
  const state = { signal: undefined as NodeJS.Signals | undefined, undo: () => {} }
  const listener = (signal: NodeJS.Signals): void => {
    state.signal = signal
    void probe.close()
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, listener)
  state.undo = () => {
    for (const signal of signals) process.off(signal, listener)
  }
  return state
}
