import { createHash } from 'node:crypto'
import path from 'node:path'
import { stableStringify, toWire } from '@retake/tape/format'
import { disk, natives } from '@retake/engine/hook'
import type { ApprovalDecision, ApprovalRequest } from './approval.js'
import { isSignedApproval, signApproval } from './approval-key.js'

/** How often somebody's decision is looked for. */
const LOOK_MS = 150

/**
 * Lays the question down beside the tape, where `retake ui` and `retake approvals`
 * find it, and waits for a decision on exactly this call. What is decided on
 * anything else, or too late, counts for nothing.
 */
export async function requestInFolder(
  request: ApprovalRequest,
  signal: AbortSignal,
  keys?: readonly string[],
): Promise<ApprovalDecision> {
  const { tape } = request
  if (tape === undefined) throw new Error('no tape is written, so nobody can see the question')
  const [requestPath, decided] = [requestFile(tape, request), decisionFile(tape, request)]
  // A decision that is there already was made on another question.
  disk.rmSync(decided, { force: true })
  writeWhole(requestPath, request)
  try {
    for (;;) {
      const decision = readDecision(decided, request, keys)
      if (decision !== undefined) return decision
      await wait(signal)
      renewRequest(requestPath, request, natives.dateNow())
    }
  } finally {
    disk.rmSync(requestPath, { force: true })
    disk.rmSync(decided, { force: true })
  }
}

function wait(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      natives.clearTimeout(timer)
      reject(new Error('nobody decided in time'))
    }
    const timer = natives.setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, LOOK_MS)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

/** A decision as it lies beside the tape. */
interface StoredDecision extends ApprovalDecision {
  /** Digest of the request that was shown to whoever decided. */
  readonly of: string
  /** Of everything else in it, by the approver. */
  readonly signature: string
}

/** A request that waits for a decision. */
export interface PendingApproval {
  /** With its arguments as they are on the tape: what JSON has no word for is tagged. */
  readonly request: ApprovalRequest
  /** Hand it back with the decision: what was shown is what is decided on. */
  readonly of: string
}

/** The folder of the questions about calls on a tape. */
const folderOf = (tape: string): string => `${tape.replace(/\.tape$/, '')}.approvals`

export const requestFile = (tape: string, request: ApprovalRequest): string =>
  path.join(folderOf(tape), `${nameOf(request)}.request.json`)

export const decisionFile = (tape: string, request: ApprovalRequest): string =>
  path.join(folderOf(tape), `${nameOf(request)}.decision.json`)

/** Two guards, or two calls around it, may ask about the same call at the same time. */
const nameOf = ({ digest, event }: ApprovalRequest): string => `${digest}-${event}`

/** Whole or not at all; only for the user who runs this. */
export function writeWhole(file: string, value: unknown): void {
  disk.renameSync(writePartial(file, value), file)
}

function writePartial(file: string, value: unknown): string {
  disk.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  const partial = `${file}.${process.pid}.partial`
  disk.writeFileSync(partial, JSON.stringify(toWire(value)), { mode: 0o600 })
  return partial
}

/** The same, unless the file exists. Of several concurrent attempts, one succeeds. */
function writeFirst(file: string, value: unknown): boolean {
  const partial = writePartial(file, value)
  try {
    disk.linkSync(partial, file)
    return true
  } catch (error) {
    if (isThere(error)) return false
    // Not every file system has hard links. Whoever reads half of it looks again.
    return copyFirst(partial, file)
  } finally {
    disk.rmSync(partial, { force: true })
  }
}

function copyFirst(from: string, to: string): boolean {
  try {
    disk.copyFileSync(from, to, disk.constants.COPYFILE_EXCL)
    return true
  } catch (error) {
    if (isThere(error)) return false
    throw error
  }
}

const isThere = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EEXIST'

/** Whoever waits says so this often, at least; a question of nobody is left by a program that ended. */
const SILENT_MS = 30_000

/** Says that the call still waits. */
export function renewRequest(file: string, request: ApprovalRequest, now: number): void {
  try {
    disk.utimesSync(file, now / 1000, now / 1000)
  } catch (error) {
    // Where somebody has removed it nobody sees it, and it expires. Elsewhere files cannot be dated.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') writeWhole(file, request)
  }
}

const isPending = (file: string, now: number): boolean => {
  const changedAt = disk.statSync(file, { throwIfNoEntry: false })?.mtimeMs
  return changedAt !== undefined && changedAt >= now - SILENT_MS
}

/** Calls on a tape that wait for a decision, the oldest first. What has expired waits no longer. */
export function pendingApprovals(tape: string, now: number): PendingApproval[] {
  let names: string[]
  try {
    names = disk.readdirSync(folderOf(tape))
  } catch {
    return []
  }
  return names
    .filter((name) => name.endsWith('.request.json'))
    .map((name) => path.join(folderOf(tape), name))
    .filter((file) => isPending(file, now))
    .flatMap((file) => {
      const request = readJson(file) as ApprovalRequest | null | undefined
      const isOpen = request !== undefined && request !== null && request.expiresAt >= now
      return isOpen ? [{ request, of: digestOf(request) }] : []
    })
    .toSorted(({ request: a }, { request: b }) => a.askedAt - b.askedAt || a.event - b.event)
}

/**
 * Decides on a call that waits. False when it does not wait any more, when somebody
 * was faster, or when what it asks is not what was shown.
 */
export function decideApproval(
  tape: string,
  of: string,
  decision: ApprovalDecision,
  now: number,
): boolean {
  const pending = pendingApprovals(tape, now).find((each) => each.of === of)
  if (pending === undefined) return false
  const stored: StoredDecision = {
    ...decision,
    of,
    signature: signApproval(signedText(decision, of)),
  }
  return writeFirst(decisionFile(tape, pending.request), stored)
}

/** The decision on exactly this request, if there is one. */
export function readDecision(
  file: string,
  request: ApprovalRequest,
  keys?: readonly string[],
): ApprovalDecision | undefined {
  const stored = readJson(file) as StoredDecision | null | undefined
  if (!stored || stored.of !== digestOf(toWire(request))) return undefined
  const { approved, by, reason, of, signature } = stored
  const decision = { approved, by, ...(reason !== undefined && { reason }) }
  return isSignedApproval(signedText(decision, of), signature, keys) ? decision : undefined
}

const signedText = ({ approved, by, reason }: ApprovalDecision, of: string): string =>
  stableStringify({ approved, by, reason: reason ?? null, of })

/** Hash of everything that was shown, arguments included, as stored in the file. */
const digestOf = (request: unknown): string =>
  createHash('sha256').update(stableStringify(request)).digest('hex')

function readJson(file: string): unknown {
  try {
    return JSON.parse(disk.readFileSync(file, 'utf8')) as unknown
  } catch {
    return undefined
  }
}
