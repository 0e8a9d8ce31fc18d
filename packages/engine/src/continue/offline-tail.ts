import type { Tape } from '@retake/tape'
import { TapeAnswers } from '../answers/tape-answers.js'
import type { ContinuedOptions } from '../sessions/continued-session.js'
import type { Operation, Session } from '../sessions/session.js'
import type { ContinuePlan } from './continue-plan.js'

/** An agent that waits for something the parent does not have is noticed after this long. */
const STALL_MS = 1000

/** After the fork, too, the parent's tape answers: in the recorded order, to whatever is asked identically. */
export function offlineAnswers(
  tape: Tape,
  from: number,
  session: Session,
  { onStopped, keepAlive = false }: Pick<ContinuedOptions, 'onStopped' | 'keepAlive'>,
): TapeAnswers {
  return new TapeAnswers(tape, {
    from,
    order: { seed: 0 },
    session: () => session,
    onStopped,
    stallMs: STALL_MS,
    keepAlive,
  })
}

/** What is under way at the fork is answered by the parent as well, but for what the fork changes. */
export function carryOffline(operation: Operation, answers: TapeAnswers, plan: ContinuePlan): void {
  const { again, answers: given } = plan
  if (given?.op === operation.id) {
    const parts = given.parts.map(({ event, body }) => ({
      event,
      body: Buffer.from(body, 'base64'),
    }))
    answers.carry(operation, { given: parts, ...(given.replaces && { replaces: given.replaces }) })
  } else if (again?.op === operation.id && again.body !== undefined) {
    answers.carry(operation, { asks: Buffer.from(again.body, 'base64') })
  } else answers.carry(operation)
}
