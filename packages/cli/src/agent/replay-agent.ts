import type { StdioOptions } from 'node:child_process'
import type { Divergence, MovedRoot, ReplayReport } from '@retake/engine'
import type { Tape } from '@retake/tape'
import { Interrupted, runAgent } from './agent-process.js'
import { cliErrors } from '../errors.js'
import { replayCommand } from './replay-command.js'
import type { Isolation } from '../sandbox/run-in-sandbox.js'
import { existsSync } from 'node:fs'
import path from 'node:path'

export interface ReplayOptions {
  readonly observe?: boolean
  readonly pace?: boolean
  readonly nodeArgs?: readonly string[]
  readonly stdio?: StdioOptions
  readonly onOutput?: (chunk: Buffer) => void
  /** Replays in a copy of the recorded folder; what is reported names the recorded one. */
  readonly root?: MovedRoot
  /** Killed after this: `REPLAY_WITHOUT_REPORT`. */
  readonly timeoutMs?: number
}

export interface Replayed extends Omit<ReplayReport, 'divergences'> {
  readonly divergences: readonly Divergence[]
  /** Set when a signal ended the replayed process. */
  readonly signal?: NodeJS.Signals
  /** Variables the program read and got a placeholder for. */
  readonly placeholders?: readonly string[]
  /** For commands only: how the replay was isolated. */
  readonly isolation?: Isolation
  /** For commands only: hosts reached while recording but not recorded, and refused now. */
  readonly notRecorded?: readonly string[]
}

/** Runs the recorded program again, served from its tape. */
export async function replayAgent(tape: Tape, options: ReplayOptions = {}): Promise<Replayed> {
  const command = replayCommand(tape, options)
  try {
    const end = await runAgent({
      ...command.start,
      stdio: options.stdio ?? ['ignore', 'inherit', 'inherit'],
      ...(options.onOutput && { onOutput: options.onOutput }),
      ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    })
    const report = command.report()
    if (report !== undefined)
      return { ...(report as Replayed), ...(end.signal && { signal: end.signal }) }
    if (end.interruptedBy) throw new Interrupted(end.interruptedBy)
    throw cliErrors.REPLAY_WITHOUT_REPORT(
      end.signal ? `was killed by ${end.signal}` : `exited with code ${end.code}`,
    )
  } finally {
    command.remove()
  }
}

/** Replays a program silently, where it was recorded or, in another checkout, where it is now. */
export async function replayHere(tape: Tape): Promise<Replayed> {
  const root = movedHere(tape)
  const replayed = await replayAgent(tape, { stdio: 'ignore', ...(root && { root }) })
  if (root === undefined) return replayed
  // What is reported names the recorded folder; a place in the code is wanted as it is here.
  const divergences = replayed.divergences.map((divergence) =>
    divergence.site === undefined
      ? divergence
      : { ...divergence, site: divergence.site.replace(root.recorded, root.current) },
  )
  return { ...replayed, divergences }
}

/**
 * A tape that was recorded in a folder that this machine does not have, in
 * another checkout: if its program is here, seen from the working directory, it
 * is run here.
 */
export function movedHere({ details: { cwd, entry } }: Tape): MovedRoot | undefined {
  if (cwd === undefined || entry === undefined || existsSync(cwd)) return undefined
  const current = process.cwd()
  const here = path.resolve(current, path.relative(cwd, path.resolve(cwd, entry)))
  return existsSync(here) ? { recorded: cwd, current } : undefined
}
