import { originOf } from '@retake/tape'
import type { Step, Tape } from '@retake/tape'
import { retryAfterMs } from '../retry-after.js'
import { viewRun } from '../view-run.js'

/** Too many requests, and what busy servers say instead. */
const BUSY: ReadonlySet<number> = new Set([429, 503, 529])

/**
 * Whether a provider has turned a fork away: the last live answer of some address was
 * that it is busy. What such a run came to says nothing. An agent that asked again and
 * was answered is fine; so is an address that was busy when the run was recorded.
 */
export function wasRateLimited(
  tape: Tape,
  recorded?: Tape,
): { readonly retryAfterMs?: number } | undefined {
  const last = lastAnswers(viewRun(tape).recordedSteps)
  const busy = [...last].filter(
    ([, step]) => isBusy(step) && ['live', undefined].includes(originOf(tape, step)),
  )
  if (busy.length === 0) return undefined
  const before = recorded && lastAnswers(viewRun(recorded).recordedSteps)
  const turnedAway = busy.filter(([address]) => !isBusy(before?.get(address)))
  if (turnedAway.length === 0) return undefined
  const waits = turnedAway.flatMap(([, step]) => waitOf(step) ?? [])
  return waits.length === 0 ? {} : { retryAfterMs: Math.max(...waits) }
}

/** By address, the last step that was answered. */
function lastAnswers(steps: readonly Step[]): Map<string, Step> {
  const last = new Map<string, Step>()
  for (const step of steps) {
    const exchange = step.exchange()
    if (exchange?.response === undefined) continue
    const { method, url } = exchange.request
    last.set(`${method} ${url.split(/[?#]/)[0]}`, step)
  }
  return last
}

const isBusy = (step: Step | undefined): boolean =>
  BUSY.has(step?.exchange()?.response?.status ?? 0)

function waitOf(step: Step): number | undefined {
  const headers = step.exchange()?.response?.headers ?? []
  const value = (name: string): string | undefined =>
    headers.find(([each]) => each.toLowerCase() === name)?.[1]
  const ms = Number(value('retry-after-ms') ?? Number.NaN)
  return Number.isFinite(ms) ? ms : retryAfterMs(value('retry-after'), Date.now())
}
