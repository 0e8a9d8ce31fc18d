import { natives, outsideRuns } from '@retake/engine/hook'

/**
 * Refusals are thrown in the code of a tool. In a timer or a floating promise, such an error would
 * end the process, so it is ignored: `blocked` of the call lists it. Other errors are unaffected.
 */
const refusals = new WeakSet<object>()
const LISTENING_MS = 1_000
let timer: NodeJS.Timeout | undefined

export function expectUnheard(error: Error): void {
  refusals.add(error)
  if (timer === undefined) outsideRuns(() => process.prependListener('uncaughtException', hear))
  else natives.clearTimeout(timer)
  timer = natives.setTimeout(stopListening, LISTENING_MS)
  timer.unref()
}

function stopListening(): void {
  timer = undefined
  process.removeListener('uncaughtException', hear)
}

/** True if an error is a refusal, or has one among its causes. */
export const isRefusal = (error: unknown): boolean => {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    if (refusals.has(each)) return true
    each = each.cause
  }
  return false
}

function hear(error: unknown): void {
  if (isRefusal(error) || process.listenerCount('uncaughtException') > 1) return
  // Without other listeners, Node would end the process here.
  natives.clearTimeout(timer)
  stopListening()
  throw error
}
