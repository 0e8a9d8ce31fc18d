import { servingPorts } from '../session-ports.js'
import type { Tape } from '@retake/tape/format'
import { callSite } from '../kernel/call-site.js'
import { withSurroundings } from '../environment.js'
import { ThreadHalter } from '../inspect/probe/thread-halter.js'
import { natives } from '../kernel/natives.js'
import { openForReplay } from '../runs/open-for-replay.js'
import { contactCounts, forbidContact } from '../boundaries/patching/outside-contact.js'
import type { CommonTask, ReplayReport, ReplayTask } from '../plans/process-task.js'
import { Player } from '../kernel/player.js'
import { movedTape } from '../player/moved-tape.js'
import { replayDiverged } from '../errors.js'
import { withText } from '../texts/divergence-text.js'
import { exitNow } from './process-exit.js'
import { startAgent, type StartCall } from './start-agent.js'
import { imitateTerminal } from './terminal-facts.js'

export const DIVERGED = 3

/** Serves the agent of this process from the tape and reports when it ends. */
export function replayProcess(
  task: Omit<ReplayTask, 'report'> & Pick<CommonTask, 'call' | 'scratch'>,
  onReport: (report: ReplayReport) => void,
): StartCall | undefined {
  const recorded = openForReplay(task.tape)
  const tape = task.root ? movedTape(recorded, task.root) : recorded
  restoreSurroundings(tape)
  forbidContact()
  const start = natives.performanceNow()
  const halter = task.inspect && new ThreadHalter(task.inspect)
  const drawSites: Record<number, string> = {}
  const ports = servingPorts(tape)
  if (task.root) ports.mask.nameAsRecorded(task.root)
  if (halter) ports.mask.onHidden = (value, placeholder) => halter.hide(value, placeholder)
  const session = new Player(tape, {
    ...ports,
    mode: task.observe ? 'observe' : 'strict',
    pace: task.pace,
    // A pending function call does not keep a process alive.
    keepAlive: task.call !== undefined,
    ...(task.compares && { compares: task.compares }),
    errorFor: replayDiverged,
    onStopped: () => stop(),
    ...(task.reportsDrawSites === true && {
      afterDraw: ({ seq }) => {
        const site = callSite()
        if (site !== undefined) drawSites[seq] = site
      },
    }),
    ...(halter && {
      afterInitiation: (event) => halter.atInitiation(event, session),
      beforeDelivery: (event) => halter.atDelivery(event, session),
    }),
  })
  const report = (exitCode: number): void => {
    const result: ReplayReport = {
      events: tape.count,
      position: session.position,
      ...session.counts,
      contacts: contactCounts(),
      divergences: session.divergences.map(withText),
      wallMs: natives.performanceNow() - start,
      cutOff: session.cutOff,
      exitCode,
      placeholders: session.placeholders,
      ...(task.reportsDrawSites === true && { drawSites }),
      ...(end && { end }),
    }
    onReport(result)
    halter?.atEnd()
  }
  let end: ReplayReport['end']
  const exitCodeOf = (agents: number): number =>
    session.divergences.length > 0 ? DIVERGED : session.cutOff ? 0 : agents
  const stop = (): void => {
    const exitCode = exitCodeOf(0)
    report(exitCode)
    exitNow(exitCode)
  }
  return startAgent(session, {
    call: task.call,
    scratch: task.scratch,
    begin: () => halter?.atStart(session),
    ending: (agents) => (end = agents),
    ended: (agents) => {
      end = agents
      process.exitCode = exitCodeOf(agents.exitCode)
      report(process.exitCode)
    },
  })
}

/** Restores environment, terminal and time zone; secrets stay placeholders. */
export function restoreSurroundings({ details }: Tape): void {
  if (details.env) {
    const { env } = natives
    const restored = withSurroundings(env, details.env)
    for (const name of Object.keys(env)) if (!(name in restored)) delete env[name]
    for (const [name, value] of Object.entries(restored)) if (env[name] !== value) env[name] = value
  }
  if (details.execArgv) process.execArgv.splice(0, process.execArgv.length, ...details.execArgv)
  if (details.stdio) imitateTerminal(details.stdio)
}
