import type { Step, Tape } from '@retake/tape'
import { viewOf } from '../continue/in-doubt.js'
import { isUpgrade } from './kept-connections.js'

/**
 * The steps of a run that can be held or made free in a fork: what was asked, and
 * answered in full. Marks and inferred steps were not asked; what the agent gave up
 * on has no answer to hold.
 */
export function searchableSteps(tape: Tape): Step[] {
  const steps = viewOf(tape).recordedSteps
  const servers = serversIn(tape, steps)
  return steps.filter((step) => whyNotSearchable(tape, step, servers) === undefined)
}

/** Child processes that answer requests on their pipes, by the event that started them. */
export function serversIn(tape: Tape, steps: readonly Step[]): ReadonlySet<number> {
  const asked = steps.map(({ seq }) => tape.event(seq))
  return new Set(asked.flatMap((event) => (event.type === 'write' ? [event.op] : [])))
}

/** Why a step cannot be searched, in words. */
export function whyNotSearchable(
  tape: Tape,
  step: Step,
  servers: ReadonlySet<number>,
): string | undefined {
  if (step.kind === 'mark') return 'it is a mark that the agent set'
  if (step.inferred) return 'it was not recorded itself, and is only seen in the conversation'
  const event = tape.event(step.seq)
  if (event.type === 'write' || event.type === 'deliver')
    return 'it was asked on the pipes of a child process, which is started anew in a fork'
  if (servers.has(step.seq)) return 'it is a server that is asked many things'
  if (event.type === 'socket') return 'no connection came about'
  if (step.state === 'aborted') return 'the agent gave up on it before its answer was complete'
  if (step.state === 'in doubt') return 'its answer is not on the tape'
  if (step.answerSeqs.length === 0) return 'it has no answer'
  if (event.type === 'request' && isUpgrade(event)) return 'it opens a connection of another kind'
  return undefined
}
