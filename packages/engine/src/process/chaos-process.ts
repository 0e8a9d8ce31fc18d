import { recordingPorts } from '../session-ports.js'
import { defined } from '@retake/tape/format'
import { TapeWriter } from '@retake/tape/node'
import { isCutShort, TapeSource } from '../player/tape-source.js'
import { environmentFrom } from '../environment.js'
import { natives } from '../kernel/natives.js'
import { openForReplay } from '../runs/open-for-replay.js'
import { sealKeyFor } from '../secrets/signing-key.js'
import { contactCounts, forbidContact } from '../boundaries/patching/outside-contact.js'
import type { ChaosReport, ChaosTask, CommonTask } from '../plans/process-task.js'
import { elapsed } from '../library/record.js'
import { withText } from '../texts/divergence-text.js'
import { describeEvent } from '../kernel/event-text.js'
import { RecordSession } from '../kernel/record-session.js'
import { FailFastWriter } from './fail-fast-writer.js'
import { exitNow, writeJson } from './process-exit.js'
import { DIVERGED, restoreSurroundings } from './replay-process.js'
import { startAgent, type StartCall } from './start-agent.js'

/**
 * Runs the recorded program from its start with the answers of its tape, in another possible order.
 * The new run is recorded on a separate tape, the only file that is written; nothing reaches the
 * outside.
 */
export function chaosProcess(task: ChaosTask & CommonTask): StartCall | undefined {
  const source = openForReplay(task.source)
  restoreSurroundings(source)
  forbidContact()
  const start = natives.performanceNow()
  const { id, name, order } = task
  const tapeWriter = TapeWriter.create(
    task.tape,
    {
      type: 'run',
      id,
      name,
      startedAt: natives.dateNow(),
      scope: source.run.scope,
      node: process.version,
      ...defined({ receipts: source.run.receipts }),
      // Only needed briefly, and the permission model of a replay forbids syncing.
      durability: 'process',
    },
    { ...source.details, branch: { kind: 'chaos', edits: [], seed: order.seed } },
    { now: elapsed() },
  )
  const writer = new FailFastWriter(tapeWriter, task.failure)
  const answers = new TapeSource(source, {
    from: 1,
    order,
    session: () => session,
    onStopped: () => stop(),
    keepAlive: task.call !== undefined,
  })
  const session: RecordSession = new RecordSession(writer, {
    ...recordingPorts(undefined, (secrets) =>
      environmentFrom(source, { secrets, isContinued: false }),
    ),
    answers,
    signingKey: sealKeyFor(source.run),
  })
  const report = (exitCode: number): void => {
    // Operations that were still open at the end, with an unknown outcome.
    const open = answers.unanswered.filter(isCutShort).map(({ recorded, operation }) => ({
      seq: recorded?.event.seq ?? 0,
      what: describeEvent(operation.action.event),
    }))
    const result: ChaosReport = {
      exitCode,
      divergences: answers.divergences.map(withText),
      picks: answers.order.picks,
      swaps: answers.order.swaps,
      unasked: answers.unrequested.map((event) => ({ seq: event.seq, what: describeEvent(event) })),
      cutShort: answers.isStalled
        ? [...open, { seq: 0, what: 'timers that never stop firing' }]
        : open,
      contacts: contactCounts(),
      wallMs: natives.performanceNow() - start,
    }
    writeJson(task.report, result)
  }
  const stop = (): void => {
    session.close()
    writer.close()
    report(DIVERGED)
    exitNow(DIVERGED)
  }
  return startAgent(session, {
    call: task.call,
    scratch: task.scratch,
    ended: ({ exitCode }) => report(exitCode),
  })
}
