import type { Duplex } from 'node:stream'
import type { ReplayReport } from '../process-task.js'

/** How a looked-into process ended. */
export interface ProbeEnd {
  readonly exitCode: number
  readonly signal?: NodeJS.Signals
  /** What the replay had to say; missing when the process was killed. */
  readonly report?: ReplayReport
}

/**
 * A replay process started with `ReplayTask.inspect`, as a `Probe` needs it. The
 * command line starts it, because it knows how an agent is started.
 */
export interface ProbeProcess {
  /** The controller's end of the pipe whose other end is `InspectTask.fd`. */
  readonly pipe: Duplex
  readonly ended: Promise<ProbeEnd>
  /** Undefined when it could not be started. */
  readonly pid?: number | undefined
  /** Starts of script URLs that are no code of the user's, besides the engine, Node and node_modules. */
  readonly libraries?: readonly string[]
  /** Ends it at once. */
  kill(): void
}
