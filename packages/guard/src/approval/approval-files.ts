import { createHash, createPublicKey, sign, verify } from 'node:crypto'
import path from 'node:path'
import { attempt, stableStringify, toWire } from '@retake/tape/format'
import { replacePrivateFile } from '@retake/tape/node'
import { disk, natives, outsideRuns, ownOrNewKey, ownPublicKey } from '@retake/engine/hook'
import type { ApprovalDecision, ApprovalRequest } from './request-approval.js'
import { waitFor } from '../limits/clock.js'

const POLL_MS = 150

/** Writes the request beside the tape, for `retake ui` and `retake guard approvals`, and waits for a decision. */
export async function requestInFolder(
  request: ApprovalRequest,
  signal: AbortSignal,
  keys?: readonly string[],
): Promise<ApprovalDecision> {
  const { tape } = request
  if (tape === undefined) throw new Error('nothing is recorded, so nobody can see the request')
  const requestPath = fileOf('request', tape, request)
  const decided = fileOf('decision', tape, request)
  // A decision file that already exists belongs to an earlier request.
  disk.rmSync(decided, { force: true })
  writeWhole(requestPath, request)
  try {
    for (;;) {
      const decision = readDecision(decided, request, keys)
      if (decision !== undefined) return decision
      if ((await waitFor(POLL_MS, signal)) === 'aborted')
        throw new Error('there was no decision in time')
      // Updates the modification time, which shows that the call is still waiting.
      const now = natives.dateNow()
      try {
        disk.utimesSync(requestPath, now / 1000, now / 1000)
      } catch (error) {
        // Some file systems do not allow setting times. A request that was removed is not written
        // again.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') writeWhole(requestPath, request)
      }
    }
  } finally {
    disk.rmSync(requestPath, { force: true })
    disk.rmSync(decided, { force: true })
  }
}

interface StoredDecision extends ApprovalDecision {
  /** Digest of the request that was shown. */
  readonly of: string
  /** Signature of the approver over the rest. */
  readonly signature: string
}

export interface PendingApproval {
  /** Its arguments are in wire format, as on the tape. */
  readonly request: ApprovalRequest
  /** Digest of the request, which a decision has to name. */
  readonly of: string
}

const folderOf = (tape: string): string => `${tape.replace(/\.tape$/, '')}.approvals`

/** The event is part of the name because two guards may request approval of the same call. */
const fileOf = (
  kind: 'request' | 'decision',
  tape: string,
  { digest, event }: ApprovalRequest,
): string => path.join(folderOf(tape), `${digest}-${event}.${kind}.json`)

const writeWhole = (file: string, value: unknown): void =>
  replacePrivateFile(file, JSON.stringify(toWire(value)))

const alreadyExists = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'EEXIST'

/** A request that was not renewed for this long belongs to a program that has ended. */
const ABANDONED_MS = 30_000

/** Calls on a tape that wait for a decision, oldest first. */
export function pendingApprovals(tape: string, now: number): PendingApproval[] {
  return attempt(() => disk.readdirSync(folderOf(tape)), [])
    .filter((name) => name.endsWith('.request.json'))
    .map((name) => path.join(folderOf(tape), name))
    .filter((file) => {
      const changedAt = disk.statSync(file, { throwIfNoEntry: false })?.mtimeMs
      return changedAt !== undefined && changedAt >= now - ABANDONED_MS
    })
    .flatMap((file) => {
      const request = readJson(file) as ApprovalRequest | null | undefined
      const isOpen = request !== undefined && request !== null && request.expiresAt >= now
      return isOpen ? [{ request, of: approvalDigest(request) }] : []
    })
    .toSorted(({ request: a }, { request: b }) => a.askedAt - b.askedAt || a.event - b.event)
}

/** False if the call no longer waits, was decided already, or differs from the one that was shown. */
export function decideApproval(
  tape: string,
  of: string,
  decision: ApprovalDecision,
  now: number,
): boolean {
  const pending = pendingApprovals(tape, now).find((each) => each.of === of)
  if (pending === undefined) return false
  const text = Buffer.from(approvalText(decision, of))
  // Signs as the user of this machine, with a key that guarded tools cannot read. The first
  // decision creates the key. The waiting program only uses the public key.
  const signature = outsideRuns(() => sign(null, text, ownOrNewKey('approval')))
  const stored: StoredDecision = { ...decision, of, signature: signature.toString('base64url') }
  // Creates the file; false if it exists. Exactly one of several concurrent writers succeeds.
  const file = fileOf('decision', tape, pending.request)
  const partial = `${file}.${process.pid}.partial`
  writeWhole(partial, stored)
  try {
    disk.linkSync(partial, file)
    return true
  } catch (error) {
    if (alreadyExists(error)) return false
    // Without hard links, a reader may see part of the copy. It then reads the file again.
    try {
      disk.copyFileSync(partial, file, disk.constants.COPYFILE_EXCL)
      return true
    } catch (error) {
      if (alreadyExists(error)) return false
      throw error
    }
  } finally {
    disk.rmSync(partial, { force: true })
  }
}

function readDecision(
  file: string,
  request: ApprovalRequest,
  keys?: readonly string[],
): ApprovalDecision | undefined {
  const stored = readJson(file) as StoredDecision | null | undefined
  if (!stored || stored.of !== approvalDigest(toWire(request))) return undefined
  const { approved, by, reason, of, signature } = stored
  const decision = { approved, by, ...(reason !== undefined && { reason }) }
  return isSignedApproval(approvalText(decision, of), signature, keys) ? decision : undefined
}

export const approvalText = ({ approved, by, reason }: ApprovalDecision, of: string): string =>
  stableStringify({ approved, by, reason: reason ?? null, of })

/** Hash of the request as stored in its file: everything that the approver sees. */
export const approvalDigest = (request: unknown): string =>
  createHash('sha256').update(stableStringify(request)).digest('hex')

const readJson = (file: string): unknown =>
  attempt(() => JSON.parse(disk.readFileSync(file, 'utf8')) as unknown)

/** The public key, for programs on other machines: `approval: { keys: [text] }`. */
export const approvalPublicKey = (): string =>
  outsideRuns(() =>
    createPublicKey(ownOrNewKey('approval')).export({ type: 'spki', format: 'pem' }).toString(),
  )

/** True if the user of this machine or the owner of one of `keys` signed it. */
export function isSignedApproval(
  text: string,
  signature: unknown,
  keys: readonly string[] = [],
): boolean {
  if (typeof signature !== 'string') return false
  const bytes = Buffer.from(signature, 'base64url')
  const own = ownPublicKey('approval')
  return [...(own === undefined ? [] : [own]), ...keys].some((key) =>
    attempt(() => verify(null, Buffer.from(text), createPublicKey(key), bytes), false),
  )
}
