import type { CallEvent } from '@retake/tape'

/** Whether the agent asks somebody: a request, a tool, a process. Each of these is a step. */
export function isAsked<E extends { readonly type: string }>(
  event: E,
): event is Extract<E, { readonly type: 'request' | 'call' }> {
  if (event.type === 'request') return true
  if (event.type !== 'call') return false
  const { kind } = event as unknown as CallEvent
  return kind === 'tool' || kind === 'process'
}
