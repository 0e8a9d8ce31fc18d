import { encodeBody, recordError } from '@retake/tape'
import { runAgent } from './run-agent.js'
import type { RunEnd } from './sessions/record-session.js'
import type { Session } from './sessions/session.js'

/** Calls the agent and tells the session what it came to; hands its output, or its error, on. */
export async function runToEnd<T>(
  session: Session & { finish(end: RunEnd): void },
  agent: () => T | Promise<T>,
): Promise<T> {
  let output: T
  let end: RunEnd
  try {
    output = await runAgent(session, agent)
    end = encodeBody(output)
  } catch (error) {
    session.finish({ error: recordError(error) })
    throw error
  }
  session.finish(end)
  return output
}
