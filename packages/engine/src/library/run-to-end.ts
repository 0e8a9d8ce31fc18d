import { encodeBody, recordError } from '@retake/tape/format'
import { ReturnedStreams } from './returned-streams.js'
import { insideRun } from '../kernel/scope.js'
import type { RunEnd } from '../kernel/record-session.js'
import type { Session } from '../kernel/session.js'
import { natives } from '../kernel/natives.js'

export interface EndingSession extends Session {
  finish(end: RunEnd): void
  /** Like `finish`, without blocking other runs. */
  finishLater?(end: RunEnd): Promise<void>
}

const finish = (session: EndingSession, end: RunEnd): Promise<void> | void =>
  session.finishLater === undefined ? session.finish(end) : session.finishLater(end)

/**
 * Calls the agent; its output may contain streams that the caller reads, and `done` resolves when
 * they have ended. Rethrows errors of the agent.
 */
export async function runUntilReturn<T>(
  session: EndingSession,
  agent: () => T | Promise<T>,
): Promise<{ readonly output: T; readonly done: Promise<void> }> {
  const { output, streams } = await callAgent(session, agent)
  if (streams === undefined) return { output, done: Promise.resolve() }
  const done = finishAfter(session, streams).then(() => undefined)
  // Callers need not wait for it.
  done.catch(() => {})
  return { output: streams.shown() as T, done }
}

/** Calls the agent and reads the streams in its output to their end; their readers get the buffered content. */
export async function runToEnd<T>(session: EndingSession, agent: () => T | Promise<T>): Promise<T> {
  const { output, streams } = await callAgent(session, agent)
  if (streams === undefined) return output
  const shown = streams.shown() as T
  const [failure] = await Promise.all([finishAfter(session, streams), streams.drain()])
  if (failure !== undefined) throw failure.error
  return shown
}

async function callAgent<T>(
  session: EndingSession,
  agent: () => T | Promise<T>,
): Promise<{ readonly output: T; readonly streams?: ReturnedStreams }> {
  let output: T
  let end: RunEnd
  try {
    output = await runAgent(session, agent)
    const streams = insideRun(session, () => new ReturnedStreams(session, output))
    if (!streams.isEmpty) return { output, streams }
    end = encodeBody(output)
  } catch (error) {
    await finish(session, { error: recordError(error) })
    throw error
  }
  await finish(session, end)
  return { output }
}

/**
 * Ends the run after its streams. An error of a stream is the outcome of the run, and is thrown to
 * its reader.
 */
async function finishAfter(
  session: EndingSession,
  streams: ReturnedStreams,
): Promise<{ readonly error: unknown } | undefined> {
  const failure = await streams.closed()
  await finish(
    session,
    failure ? { error: recordError(failure.error) } : encodeBody(streams.recorded),
  )
  return failure
}

/**
 * Calls the agent in its own turn. Record and replay share this line, and no caller is on the
 * stack: agents print stack traces and send them to models, so traces must be the same.
 */
function runAgent<T>(session: Session, agent: () => T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    natives.setImmediate(() => insideRun(session, start))
    function start(): void {
      new Promise<T>((settle) => settle(agent())).then(
        // Not `resolve` itself, because V8 would follow it to the awaiting function.
        (output) => resolve(output),
        (error: unknown) => reject(error as Error),
      )
    }
  })
}

/** For a run that may be stopped from elsewhere. `stopped` never resolves, and rejects with the reason. */
export function stoppable() {
  let stop: (error: unknown) => void = () => {}
  const stopped = new Promise<never>((_, reject) => (stop = reject))
  // It may reject before anybody awaits it.
  stopped.catch(() => {})
  return { stopped, stop }
}
