import type { RunDetails } from '@retake/tape'
import { ThreadHolder } from '../inspect/thread-holder.js'
import { natives } from '../natives.js'
import { openForReplay } from '../open-for-replay.js'
import { contactCounts, forbidContact } from '../outside-contact.js'
import type { ReplayReport, ReplayTask } from '../process-task.js'
import { adoptProcess } from '../scope.js'
import { ReplaySession } from '../sessions/replay-session.js'
import { movedTape } from './moved-tape.js'
import { exitNow, onAgentEnd } from './process-exit.js'
import { captureSignals } from './signals.js'
import { imitateTerminal } from './terminal-facts.js'
import { writeJson } from './write-json.js'

export const DIVERGED = 3

/** Serves this whole process from the tape and writes a report when it ends. */
export function replayProcess(task: ReplayTask): void {
  const recorded = openForReplay(task.tape)
  const tape = task.root ? movedTape(recorded, task.root) : recorded
  restoreSurroundings(tape.details)
  forbidContact()
  const start = natives.performanceNow()
  const holder = task.inspect && new ThreadHolder(task.inspect)
  const session = new ReplaySession(tape, {
    mode: task.observe ? 'observe' : 'strict',
    pace: task.pace,
    onStopped: () => stop(),
    ...(holder && {
      afterInitiation: (event) => holder.atInitiation(event, session),
      beforeDelivery: (event) => holder.atDelivery(event, session),
    }),
  })
  if (task.root) session.secrets.nameAsRecorded(task.root)
  const report = (exitCode: number): void => {
    const result: ReplayReport = {
      events: tape.count,
      position: session.position,
      ...session.counts,
      contacts: contactCounts(),
      divergences: session.divergences,
      wallMs: natives.performanceNow() - start,
      cutOff: session.cutOff,
      exitCode,
      ...(end && { end }),
    }
    writeJson(task.report, result)
    holder?.atEnd()
  }
  let end: ReplayReport['end']
  const exitCodeOf = (agents: number): number =>
    session.divergences.length > 0 ? DIVERGED : session.cutOff ? 0 : agents
  const stop = (): void => {
    const exitCode = exitCodeOf(0)
    report(exitCode)
    exitNow(exitCode)
  }
  onAgentEnd((agents) => {
    end = agents
    session.finish(agents)
    process.exitCode = exitCodeOf(agents.exitCode)
    report(process.exitCode)
  })
  captureSignals(session)
  adoptProcess(session)
  holder?.atStart(session)
}

/** Environment, terminal and zone as they were; secrets stay placeholders. */
export function restoreSurroundings(details: RunDetails): void {
  if (details.env) {
    for (const name of Object.keys(process.env))
      if (!(name in details.env)) delete process.env[name]
    Object.assign(process.env, details.env)
  }
  if (details.execArgv) process.execArgv.splice(0, process.execArgv.length, ...details.execArgv)
  if (details.stdio) imitateTerminal(details.stdio)
}
