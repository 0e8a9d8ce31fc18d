import { disk, natives } from '@retake/engine/hook'
import type { ApprovalDecision, ApprovalRequest } from './approval.js'
import { decisionFile, readDecision, requestFile, stillAsk, writeWhole } from './approval-files.js'

/** How often somebody's decision is looked for. */
const LOOK_MS = 150

/**
 * Lays the question down beside the tape, where `retake ui` and `retake approvals`
 * find it, and waits for a decision on exactly this call. What is decided on
 * anything else, or too late, counts for nothing.
 */
export async function askInFolder(
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalDecision> {
  const { tape } = request
  if (tape === undefined) throw new Error('no tape is written, so nobody can see the question')
  const [asked, decided] = [requestFile(tape, request), decisionFile(tape, request)]
  // A decision that is there already was made on another question.
  disk.rmSync(decided, { force: true })
  writeWhole(asked, request)
  try {
    for (;;) {
      const decision = readDecision(decided, request)
      if (decision !== undefined) return decision
      await wait(signal)
      stillAsk(asked, request, natives.dateNow())
    }
  } finally {
    disk.rmSync(asked, { force: true })
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
