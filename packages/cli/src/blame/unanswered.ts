import { createHash } from 'node:crypto'
import { originOf } from '@retake/tape'
import type { RecordedError, Step, StepKind, Tape } from '@retake/tape'
import { viewRun } from '../view-run.js'

const ASKED: ReadonlySet<StepKind> = new Set(['model', 'http', 'mcp'])
/** Who is not let in, or has not paid: of nobody an answer to what was asked. */
const REFUSED: ReadonlySet<number> = new Set([401, 402, 403, 407])

/**
 * Why what a fork came to says nothing: something that it really asked was not answered, as
 * a provider is down, a key has run out, or a model does not take the conversation with held
 * answers in it. An agent that asked the same again and was answered is fine; so is what had
 * failed in the same way when the run was recorded.
 */
export function unanswered(tape: Tape, recorded: Tape): string | undefined {
  const known = new Set(
    viewRun(recorded).recordedSteps.flatMap((step) => {
      const why = whyNot(step)
      return why === undefined ? [] : [`${addressOf(step)} ${why}`]
    }),
  )
  const last = new Map<string, Step>()
  for (const step of viewRun(tape).recordedSteps)
    if (ASKED.has(step.kind) && step.state !== 'aborted') last.set(questionOf(step), step)
  for (const step of last.values()) {
    if (originOf(tape, step) !== 'live') continue
    const why = whyNot(step)
    const address = addressOf(step)
    if (why !== undefined && !known.has(`${address} ${why}`))
      return `${address} was not answered: ${why}`
  }
  return undefined
}

function addressOf(step: Step): string {
  const request = step.exchange()?.request
  return request === undefined ? step.title : `${request.method} ${request.url.split(/[?#]/)[0]}`
}

/** Equal where the same is asked again. */
function questionOf(step: Step): string {
  const { body = new Uint8Array(0), url = '' } = step.exchange()?.request ?? {}
  return `${addressOf(step)} ${createHash('sha256').update(url).update(body).digest('hex')}`
}

function whyNot(step: Step): string | undefined {
  const status = step.exchange()?.response?.status
  if (status !== undefined) {
    const isRefused = status >= 500 || REFUSED.has(status)
    return isRefused || (step.kind === 'model' && status >= 400) ? `status ${status}` : undefined
  }
  return codeOf(step.failure)
}

/** What the network says has a code; an error that a simulator made up has none. */
function codeOf({ code, cause }: Partial<RecordedError> = {}): string | undefined {
  return code === undefined ? cause && codeOf(cause) : String(code)
}
