import { identifySession } from '../runs/run-identity.js'
import { continueRun } from '../player/play.js'
import type { Simulator } from '../player/plan.js'
import { natives } from '../kernel/natives.js'
import { forbidContact, forbidContactInTools } from '../boundaries/patching/outside-contact.js'
import type { CommonTask, ContinueReport, ContinueTask } from '../plans/process-task.js'
import { trustRecording } from '../runs/trusted-runs.js'
import { FailFastWriter } from './fail-fast-writer.js'
import { exitNow, stopWith, writeJson } from './process-exit.js'
import { withText } from '../texts/divergence-text.js'
import { DIVERGED } from './replay-process.js'
import { startAgent, type StartCall } from './start-agent.js'
import { imitateTerminal } from './terminal-facts.js'

/** Serves this process from a tape, then lets it go live and records it, according to the plan. */
export function continueProcess(
  task: ContinueTask & CommonTask,
  simulator?: Simulator,
): StartCall | undefined {
  const start = natives.performanceNow()
  // A second safeguard: with an offline tail, the session has no access to the outside.
  if (task.plan.tail === 'offline' || task.plan.live?.refuse === 'everything') forbidContact()
  if (task.plan.live?.isolatesTools === true) forbidContactInTools()
  const { session, tape, settled, pinned, live, abandon } = continueRun(task.plan, {
    onStopped: () => stop(),
    onFailed: (error) => {
      if (pinned()?.broken !== undefined || live()?.refused !== undefined) return stop()
      if (!session.isLive) abandon()
      stopWith(error, task.failure)
    },
    simulator,
    keepAlive: task.call !== undefined,
    through: (writer) => {
      if (task.trustedRuns !== undefined) trustRecording(writer.path, task.trustedRuns)
      return new FailFastWriter(writer, task.failure)
    },
  })
  identifySession(session, task.plan.branch ?? tape.run)
  if (tape.details.stdio) imitateTerminal(tape.details.stdio)
  const report = (exitCode: number): void => {
    const result: ContinueReport = {
      position: session.position,
      isLive: session.isLive,
      ...(session.left && { left: withText(session.left) }),
      divergences: session.divergences.map(withText),
      ...session.counts,
      settled,
      servedMs: (session.liveSinceMs ?? natives.performanceNow()) - start,
      wallMs: natives.performanceNow() - start,
      exitCode,
      ...(pinned() && { pinned: pinned() }),
      ...(live() && { live: live() }),
    }
    writeJson(task.report, result)
  }
  const stop = (): void => {
    abandon()
    report(DIVERGED)
    exitNow(DIVERGED)
  }
  return startAgent(session, {
    call: task.call,
    scratch: task.scratch,
    isContinued: true,
    ended: ({ exitCode }) => {
      abandon()
      report(exitCode)
    },
  })
}
