import { RetakeError } from '@retake/engine'
import type { Check } from './check.js'
import { cannotTell } from './oracle.js'
import type { Judgement, RunOutcome } from './oracle.js'

const TIMEOUT_MS = 30_000

export interface Bounds {
  /** A check that takes longer cannot tell; 30 seconds unless the check or this says otherwise. */
  readonly timeoutMs?: number
  /** What the recorded run came to. An error that it did not end in means that a fork broke. */
  readonly recorded?: RunOutcome
}

/**
 * Asks a check. Whatever it does, a judgement comes back: a run that broke, a check
 * that throws or hangs is `undefined`. Only mistakes of the user's, which would be the
 * same for every run, are thrown.
 */
export async function judgeBounded(
  check: Check,
  outcome: RunOutcome,
  signal: AbortSignal,
  { timeoutMs = check.timeoutMs ?? TIMEOUT_MS, recorded }: Bounds,
): Promise<Judgement> {
  const broken = howItBroke(outcome, recorded, check.judgesBroken === true)
  if (broken !== undefined) return cannotTell(broken)
  const judge = await check.prepare()
  const late = new AbortController()
  const either = AbortSignal.any([signal, late.signal])
  const timer = setTimeout(() => late.abort(), timeoutMs)
  let giveUp = (): void => {}
  const stopped = new Promise<Judgement>((resolve) => {
    giveUp = () =>
      resolve(
        cannotTell(
          late.signal.aborted
            ? `the oracle was stopped after ${timeoutMs / 1000} s`
            : 'the oracle was stopped',
        ),
      )
  })
  either.addEventListener('abort', giveUp)
  if (either.aborted) giveUp()
  try {
    const answer = Promise.resolve().then(() => judge(outcome, either))
    // Once it is given up on, nobody waits for what it comes to.
    answer.catch(() => {})
    return await Promise.race([stopped, answer])
  } catch (error) {
    if (error instanceof RetakeError) throw error
    return cannotTell(`the oracle threw: ${messageOf(error)}`)
  } finally {
    clearTimeout(timer)
    either.removeEventListener('abort', giveUp)
  }
}

/** Why nothing can be said about a run that was killed, or that broke where the recorded one did not. */
function howItBroke(
  outcome: RunOutcome,
  recorded: RunOutcome | undefined,
  judgesBroken: boolean,
): string | undefined {
  const { ended, signal, error } = outcome
  const isLikeThen =
    recorded === undefined || (recorded.ended === ended && recorded.signal === signal)
  if (!ended && !(judgesBroken && isLikeThen))
    return signal === undefined
      ? 'the run did not come to an end'
      : `the run was killed by ${signal}`
  if (recorded === undefined || error === undefined) return undefined
  if (recorded.error?.class === error.class) return undefined
  return `the run broke: ${error.class}: ${error.message.split('\n')[0]}`
}

const messageOf = (error: unknown): string =>
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).split('\n')[0] ?? ''
