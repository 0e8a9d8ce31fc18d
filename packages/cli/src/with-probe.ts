import type { Probe } from '@retake/engine/inspect'
import type { Tape } from '@retake/tape'
import { Interrupted } from './agent-process.js'
import { probeAgent } from './probe-agent.js'
import type { ProbeAgentOptions } from './probe-agent.js'

/** The signal that has ended a probe, once there was one. */
export interface Interruption {
  signal: NodeJS.Signals | undefined
}

/**
 * Starts a recorded program as a replay and looks into it; it is gone when `look` is done.
 * Ctrl-C ends it before that, and is then why `look` failed.
 */
export async function withProbe<T>(
  tape: Tape,
  options: ProbeAgentOptions,
  look: (probe: Probe, interruption: Interruption) => Promise<T>,
): Promise<T> {
  const probe = await probeAgent(tape, options)
  const interruption: Interruption = { signal: undefined }
  const listener = (signal: NodeJS.Signals): void => {
    interruption.signal = signal
    void probe.close()
  }
  for (const signal of SIGNALS) process.on(signal, listener)
  try {
    return await look(probe, interruption)
  } catch (error) {
    throw interruption.signal ? new Interrupted(interruption.signal) : error
  } finally {
    for (const signal of SIGNALS) process.off(signal, listener)
    await probe.close()
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
