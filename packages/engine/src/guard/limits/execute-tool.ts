import type { CallUsage, GuardFacts } from '@retake/tape'
import { natives } from '../../natives.js'
import { insideTool } from '../../scope.js'
import type { Session } from '../../sessions/session.js'
import type { CallBounds } from '../bounds/call-bounds.js'
import type { GuardedTool } from '../guarded-tool.js'

export interface ExecuteOptions {
  readonly tool: GuardedTool
  /** A fresh copy of the arguments for each attempt: a tool may do with them what it likes. */
  readonly args: () => unknown
  readonly session: Session
  readonly bounds: CallBounds
  readonly idempotencyKey: string
  readonly timeoutMs: number
  /** The caller's own. */
  readonly signal: AbortSignal | undefined
}

export interface Executed {
  readonly outcome: { readonly value: unknown } | { readonly error: unknown }
  readonly facts: Pick<GuardFacts, 'status' | 'exitReason' | 'attempts' | 'usage' | 'tookMs'>
}

/** Starts the tool, as often as it may be, and waits for it no longer than it may take. */
export async function executeTool(options: ExecuteOptions): Promise<Executed> {
  const { tool, session, bounds, idempotencyKey } = options
  const started = natives.performanceNow()
  let usage: CallUsage | undefined
  const facts = (status: 'done' | 'failed') => ({
    status,
    tookMs: Math.round((natives.performanceNow() - started) * 1000) / 1000,
    ...(usage && { usage }),
  })
  const context = {
    signal: options.signal ?? new AbortController().signal,
    idempotencyKey,
    attempt: 1,
    use: (used: CallUsage) => void (usage = { ...usage, ...used }),
  }
  try {
    const value = await insideTool(session, () => tool.run(options.args(), context), bounds)
    return { outcome: { value }, facts: facts('done') }
  } catch (error) {
    return { outcome: { error }, facts: facts('failed') }
  }
}
