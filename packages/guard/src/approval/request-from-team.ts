import { natives, outsideRuns } from '@retake/engine/hook'
import { toWire } from '@retake/tape/format'
import { approvalDigest, isSignedApproval, approvalText } from './approval-files.js'
import type { ApprovalDecision, ApprovalRequest } from './request-approval.js'

const RETRY_MS = 1000
const WAIT_SECONDS = 30

interface TeamApproval {
  readonly id: string
  readonly state: 'waiting' | 'approved' | 'denied' | 'expired'
  readonly decidedBy?: string
  readonly reason?: string
  readonly signature?: string
}

/**
 * Sends the request to a project on a team server and waits for a decision. The server signs the
 * decision and the request with a key that this process does not have. While the server is
 * unreachable, the call waits; only a signed decision approves it.
 */
export async function requestFromTeam(
  { tool, args, guard, rule, why, event, digest, tape, expiresAt, askedAt }: ApprovalRequest,
  signal: AbortSignal,
  keys: readonly string[] = [],
): Promise<ApprovalDecision> {
  const { address, apiKey, trusted } = teamSettings(keys)
  // The nonce distinguishes identical calls of different processes.
  const shown = { tool, args, guard, rule, why, event, digest, nonce: natives.randomUUID() }
  const call = JSON.parse(JSON.stringify(toWire(shown))) as unknown
  const run = /([^/\\]+)\.tape$/.exec(tape ?? '')?.[1] ?? 'not recorded'
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  // Retries while the server is unreachable or overloaded. A refusal is final.
  const send = async (route: string, init: RequestInit): Promise<TeamApproval> => {
    for (;;) {
      signal.throwIfAborted()
      // A redirect could send the key to another host.
      const response = await outsideRuns(() =>
        natives.fetch(`${address}${route}`, { ...init, signal, headers, redirect: 'error' }),
      ).catch(() => undefined)
      const answer = (await response?.json().catch(() => undefined)) as
        | { approval?: TeamApproval; error?: { what: string; why: string } }
        | undefined
      if (response?.ok === true && answer?.approval !== undefined) return answer.approval
      const { status = 503 } = response ?? {}
      if (status < 500 && status !== 429)
        throw new Error(
          `the server refused: ${answer?.error?.what ?? ''} ${answer?.error?.why ?? ''}`,
        )
      await new Promise((resolve) => natives.setTimeout(resolve, RETRY_MS))
    }
  }
  const body = JSON.stringify({ run, call, expiresMs: expiresAt - askedAt })
  let approval = await send('', { method: 'POST', body })
  while (approval.state === 'waiting')
    approval = await send(`/${approval.id}?wait=${WAIT_SECONDS}`, {})
  const { state, decidedBy: by = '', reason, signature } = approval
  if (state === 'expired') throw new Error('there was no decision in time')
  const approved = state === 'approved'
  const decision = { approved, by, ...(reason !== undefined && { reason }) }
  if (!isSignedApproval(approvalText(decision, approvalDigest(call)), signature, trusted))
    throw new Error('the decision is not signed by a key that the guard trusts')
  return decision
}

function teamSettings(keys: readonly string[]) {
  const { RETAKE_SERVER, RETAKE_PROJECT, RETAKE_API_KEY, RETAKE_APPROVAL_KEY } = natives.env
  const [org, project] = (RETAKE_PROJECT ?? '').split('/')
  const trusted = [...keys]
  if (RETAKE_APPROVAL_KEY)
    trusted.push(
      RETAKE_APPROVAL_KEY.includes('BEGIN')
        ? RETAKE_APPROVAL_KEY
        : `-----BEGIN PUBLIC KEY-----\n${RETAKE_APPROVAL_KEY}\n-----END PUBLIC KEY-----\n`,
    )
  if (!RETAKE_SERVER || !org || !project || !RETAKE_API_KEY)
    throw new Error('set RETAKE_SERVER, RETAKE_PROJECT (organization/project) and RETAKE_API_KEY')
  if (trusted.length === 0)
    throw new Error("set RETAKE_APPROVAL_KEY to the key on the server's Approvals page")
  const base = RETAKE_SERVER.replace(/\/+$/, '')
  const route = `/api/v1/${encodeURIComponent(org)}/projects/${encodeURIComponent(project)}`
  return { address: `${base}${route}/approvals`, apiKey: RETAKE_API_KEY, trusted }
}
