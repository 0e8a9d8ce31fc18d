import { rememberHidden } from '@retake/engine/runs'
import { explain } from '../terminal/print-error.js'
import { missingReport } from '../agent/agent-process.js'
import type { StdioOptions } from 'node:child_process'
import type { Duplex } from 'node:stream'
import type { Ended, Probe, ProbeEnd, ProbeProcess, Stop } from '@retake/engine/inspect'
import { attempt, type RunView, type Step, type Tape } from '@retake/tape'
import { FOUND, Interruption } from '../terminal/exit-codes.js'
import { cliErrors } from '../errors.js'
import { type Replayed, replayReceipt, ReplayProcess } from '../agent/replay-agent.js'
import { commandRoot, runnerEntry } from '../package-root.js'
import { lookOf, printJson } from '../terminal/terminal.js'
import type { RecordedCode } from '../sources/recorded-code.js'
import { momentOf } from '../runs/view-run.js'

class DivergedOnTheWay extends Error {
  override readonly name = 'DivergedOnTheWay'
  constructor(readonly replayed: Replayed) {
    super('the replay diverged on the way')
  }
}

/** The reason to skip a run in a search over many. Rethrows errors that are not about the run. */
export function whyNotReplayed(error: unknown): string {
  const explained = explain(error)
  if (explained !== undefined) return `${explained.what} (${explained.code})`
  if (error instanceof DivergedOnTheWay) return "today's code differs from the recording"
  throw error
}

/** Runs a probe until a step's answer has reached the agent, at the line that it resumed. */
export async function stopAtStep(probe: Probe, view: RunView, step: Step): Promise<Stop> {
  const paused = await probe.runTo(momentOf(step))
  if (paused.kind === 'ended') throw endedBefore(view, step, paused)
  const stop = await probe.stopAtUserCode()
  if (stop.kind === 'ended') throw endedBefore(view, step, stop)
  return stop
}

function endedBefore(view: RunView, step: Step, end: Ended): Error {
  checkEnd(end)
  return cliErrors.NO_USER_CODE_AFTER(view.id, step.label)
}

/** Throws if the replay did not reach the recorded end. */
export function checkEnd({ report, signal, exitCode }: Ended): void {
  if (report === undefined) throw missingReport({ code: exitCode, ...(signal && { signal }) })
  if (report.divergences.length > 0) throw new DivergedOnTheWay(report)
}

/** Runs `look`. Explains a divergence on stderr, or on stdout as JSON, with exit code 3. */
export async function explainingDivergence(
  tape: Tape,
  json: boolean,
  look: () => Promise<number>,
): Promise<number> {
  try {
    return await look()
  } catch (error) {
    if (!(error instanceof DivergedOnTheWay)) throw error
    const { replayed } = error
    if (json) {
      const { divergences } = replayed
      printJson({ run: tape.run.id, identical: false, divergences }, 2)
      return FOUND
    }
    const style = lookOf(process.stderr)
    const lines = [
      'The program behaves differently from the recording, so its recorded state',
      'cannot be shown.',
      ...replayReceipt(tape, replayed, style),
    ]
    process.stderr.write(`${lines.join('\n')}\n`)
    return FOUND
  }
}

/**
 * Starts a recorded program as a replay and inspects it until `look` is done. Ctrl-C ends it
 * earlier and becomes the reason why `look` failed.
 */
export async function withProbe<T>(
  tape: Tape,
  options: ProbeAgentOptions,
  look: (probe: Probe, interruption: Interruption) => Promise<T>,
): Promise<T> {
  const probe = await probeAgent(tape, options)
  using interruption = new Interruption()
  interruption.signal.addEventListener('abort', () => void probe.close())
  try {
    // A process that ended before its first line did not start.
    if (probe.position.kind === 'ended') checkEnd(probe.position)
    return await look(probe, interruption)
  } catch (error) {
    interruption.throwIfAny()
    throw error
  } finally {
    await probe.close()
  }
}

export interface ProbeAgentOptions {
  readonly nodeArgs?: readonly string[]
  /** Destination of the agent's output; discarded by default. */
  readonly output?: { readonly stdout: Output; readonly stderr: Output }
  /** Runs this code instead of today's. Locations name the recorded files. */
  readonly code?: RecordedCode | undefined
}
type Output = 'ignore' | 'inherit' | NodeJS.WritableStream

const PIPE_FD = 3

/** Starts a recorded program as a replay to look into. Close the probe when done. */
export async function probeAgent(tape: Tape, options: ProbeAgentOptions = {}): Promise<Probe> {
  const inspection = await import('@retake/engine/inspect')
  rememberHidden(tape)
  return inspection.Probe.start(() => spawnProbe(tape, options))
}

/** Starts only the process, for callers that manage several of them. */
export function spawnProbe(
  tape: Tape,
  { nodeArgs = [], output, code }: ProbeAgentOptions = {},
): ProbeProcess {
  const replay = new ReplayProcess(tape, { nodeArgs, inspectFd: PIPE_FD, code })
  const { stdout = 'ignore', stderr = 'ignore' } = output ?? {}
  const child = replay.spawn({ stdio: ['ignore', stdout, stderr, 'pipe'] as StdioOptions })
  const ended = new Promise<ProbeEnd>((resolve, reject) => {
    child.on('error', (cause) => reject(cliErrors.AGENT_NOT_STARTED(cause)))
    child.on('exit', (code, signal) => {
      try {
        replay.throwFailure()
        const report = replay.report()
        resolve({ exitCode: code ?? 1, ...(signal && { signal }), ...(report && { report }) })
      } catch (error) {
        reject(error)
      }
    })
  }).finally(() => replay.remove())
  return {
    pipe: child.stdio[PIPE_FD] as Duplex,
    ended,
    pid: child.pid,
    ...(code && { root: code.root }),
    // Breakpoints in the guard's bundle would take seconds: it has 13,000 locations.
    libraries: [
      commandRoot().href,
      new URL('.', runnerEntry('runs')).href,
      ...attempt(() => [new URL('.', import.meta.resolve('@retake/guard')).href], []),
    ],
    kill: () => {
      child.kill('SIGKILL')
      // Not deferred, because this process may be about to end too.
      replay.remove()
    },
  }
}
