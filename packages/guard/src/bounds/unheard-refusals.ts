import { natives, outsideRuns } from '@retake/engine/hook'

/**
 * A refusal is an error in the code of a tool. Where nobody waits for that code, in
 * a timer or a promise that was let go, it would end the whole process; the call has it
 * among what was blocked, and that is enough. Other errors do what they always do.
 */
const refusals = new WeakSet<object>()
const LISTENING_MS = 1_000
let timer: NodeJS.Timeout | undefined

/** Called before a refusal is thrown. */
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

/** True if an error is a refusal. Fetch and streams wrap it as the cause of their own error. */
export const isRefusal = (error: unknown): boolean => {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    if (refusals.has(each)) return true
    each = each.cause
  }
  return false
}

function hear(error: unknown): void {
  if (isRefusal(error) || process.listenerCount('uncaughtException') > 1) return
  // Without a listener Node would have ended here: so be it.
  natives.clearTimeout(timer)
  stopListening()
  throw error
}
