import fs from 'node:fs'
import path from 'node:path'
import { attempt, type RunDetails, type Tape } from '@retake/tape/format'
import { openOwnTape } from '@retake/tape/node'
import { proofOf, START_PROOF, stateFolder } from '../secrets/machine-key.js'

// Captured when this module loads, because these files must not become part of a recording.
const { appendFileSync, mkdirSync, readFileSync } = fs

/** The list of runs recorded here: one digest per line, of everything that starts the run. */
export const trustedRunsFile = (): string => path.join(stateFolder(), 'trusted-runs')

/**
 * True if this user recorded the run on this machine, or trusted it explicitly. Trust covers what
 * would be started: program, arguments, folder, flags and environment. Not promised: somebody with
 * a copy may have changed the rest of the tape.
 */
export const isTrustedRun = (
  tape: Pick<Tape, 'startDigest' | 'details'>,
  file = trustedRunsFile(),
): boolean => {
  const { proof, ...details } = tape.details
  const isProven =
    proof !== undefined && proof === proofOf(START_PROOF, JSON.stringify(details), false)
  return isProven || marksIn(file).has(tape.startDigest)
}

/**
 * Adds a proof that this user recorded the run on this machine. For runs of `record()`, because a
 * server makes too many for a list. Returns the details unchanged if there is no key.
 */
export function withProof(details: RunDetails): RunDetails {
  const proof = proofOf(START_PROOF, JSON.stringify(details), true)
  return proof === undefined ? details : { ...details, proof }
}

/** Remembers a run as trusted. Throws the system's error if the file cannot be written. */
export function trustRun(tape: Pick<Tape, 'startDigest'>, file = trustedRunsFile()): void {
  if (marksIn(file).has(tape.startDigest)) return
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  appendFileSync(file, `${tape.startDigest}\n`, { mode: 0o600 })
}

/** Like `trustRun`, for a run in progress, which continues even if the file cannot be written. */
export function trustRecording(tape: string, file: string): void {
  // When the run has ended, the command line checks for the entry and reports if it is missing.
  attempt(() => trustRun(openOwnTape(tape), file))
}

const marksIn = (file: string): ReadonlySet<string> =>
  new Set(attempt(() => readFileSync(file, 'utf8').split('\n'), []))
