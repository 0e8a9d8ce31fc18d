import { recordingPorts } from '../session-ports.js'
import path from 'node:path'
import type { NewEvent, Preload } from '@retake/tape/format'
import { TapeWriter } from '@retake/tape/node'
import type { ChildTask, NodeProgram } from '../kernel/session.js'
import { childTapePath } from '../runs/runs-folder.js'
import { SERVER_LISTEN } from '../boundaries/uncaptured.js'
import { CHILD_UNREF } from '../boundaries/processes/tape-child.js'
import { identifySession } from '../runs/run-identity.js'
import { errors } from '../errors.js'
import { natives } from '../kernel/natives.js'
import type { CallSites, CommonTask, RecordTask } from '../plans/process-task.js'
import { elapsed } from '../library/record.js'
import { surroundingsOf } from '../environment.js'
import { Overlay } from '../overlay/overlay.js'
import { RecordSession } from '../kernel/record-session.js'
import { sealKeyFor } from '../secrets/signing-key.js'
import { trustRecording } from '../runs/trusted-runs.js'
import { describeTerminal } from './terminal-facts.js'
import { type EventWatcher, FailFastWriter } from './fail-fast-writer.js'
import { onProcessExit, writeJson } from './process-exit.js'
import { redactionDetails } from '../secrets/redacted-tape.js'
import { redactorOf } from '../secrets/redactor.js'
import { SecretMask } from '../secrets/secrets.js'
import { startAgent } from './start-agent.js'
import { callSite } from '../kernel/call-site.js'

/** Records this whole process on a new tape, until it exits. */
export function recordProcess(
  task: RecordTask & CommonTask,
  preloads: readonly Preload[] | undefined,
): undefined {
  const redactor = redactorOf(task.redact)
  const secrets = new SecretMask(redactor)
  secrets.addProcessEnvironment()
  const tapeWriter = TapeWriter.create(
    task.tape,
    {
      type: 'run',
      id: task.id,
      name: task.name,
      startedAt: natives.dateNow(),
      scope: 'process',
      node: process.version,
      ...(task.sign && { receipts: true }),
      durability: task.durability ?? 'machine',
    },
    {
      entry: task.entry,
      args: secrets.arguments(task.args),
      cwd: process.cwd(),
      execArgv: [...process.execArgv],
      ...(preloads && { preloads }),
      ...(task.startedBy && { startedBy: task.startedBy }),
      ...(task.code && { code: task.code }),
      ...(task.tags && { tags: task.tags }),
      env: surroundingsOf(natives.env),
      stdio: describeTerminal(),
      platform: `${process.platform} ${process.arch}`,
      ...(redactor && { redaction: redactionDetails(redactor) }),
    },
    { now: elapsed() },
  )
  if (task.trustedRuns !== undefined) trustRecording(task.tape, task.trustedRuns)
  const writer = new FailFastWriter(tapeWriter, task.failure, [
    ...(task.sites === undefined ? [] : [collectSites(task.sites)]),
    // Prints nothing in a process whose output is read by another one.
    ...(task.startedBy === undefined ? [warnAtNotes(task.strict === true)] : []),
  ])
  const ports = recordingPorts(redactor)
  const session = new RecordSession(writer, {
    ...ports,
    signingKey: task.sign ? sealKeyFor({ receipts: true }) : undefined,
    ...(task.databases !== undefined && { databases: new Overlay(task.databases) }),
    ...(task.recordsChildren && { childTask: (op, program) => childTask(task, op, program) }),
  })
  ports.mask.values.takeOver(secrets)
  identifySession(session, task)
  startAgent(session, { call: undefined, scratch: undefined, ended: () => {} })
}

/** Task of a program that the recorded program starts. */
function childTask(
  task: RecordTask & CommonTask,
  op: number,
  { entry, args }: NodeProgram,
): ChildTask {
  const tape = childTapePath(task.tape, op)
  const { pureAddons, trustedRuns, durability, sign, redact, childCode } = task
  return {
    tape,
    task: {
      mode: 'record',
      id: path.basename(tape, '.tape'),
      name: path.basename(entry).replace(/\.[cm]?[jt]s$/, ''),
      tape,
      entry,
      args,
      recordsChildren: true,
      startedBy: { run: task.id, seq: op },
      ...(pureAddons && { pureAddons }),
      ...(trustedRuns !== undefined && { trustedRuns }),
      ...(durability && { durability }),
      ...(sign && { sign }),
      ...(redact && { redact }),
      ...(childCode !== undefined && { childCode }),
    },
  }
}

/** Exit code of a strict recording that was stopped, as for all findings. */
const FOUND = 3

/**
 * Warns once, when the program starts to listen, that this run cannot be replayed; ends a strict
 * recording. Warns once, too, when the program stops waiting for a process, because the recording
 * does not.
 */
function warnAtNotes(isStrict: boolean): EventWatcher {
  const known = new Set<string>()
  const warn = (text: string): void => natives.stderrWrite(Buffer.from(`retake: ${text}\n`))
  const after = (event: NewEvent): void => {
    if (event.type !== 'note' || known.has(event.name)) return
    known.add(event.name)
    if (event.name === SERVER_LISTEN) {
      const { what, why, fix } = errors.SERVER_NOT_REPLAYABLE(event.site)
      warn(`${what} ${why} ${fix}`)
      if (isStrict) process.exit(FOUND)
    }
    if (event.name === CHILD_UNREF)
      warn(
        `The program does not wait for the process that it started (${event.site ?? 'unknown line'}), but the recording waits for its output. If it never ends, start it with \`stdio: 'ignore'\` or with files.`,
      )
  }
  return { after }
}

/** Notes the line of the agent's code for each draw and timer, which the tape does not contain. */
function collectSites(file: string): EventWatcher {
  const counts = new Map<string, number>()
  const before = (event: NewEvent): void => {
    if (event.type === 'draw' || event.type === 'timer' || event.type === 'work') {
      const key = JSON.stringify([event.type === 'work' ? event.name : event.kind, callSite()])
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  onProcessExit(() => {
    const sites: CallSites = [...counts].map(([key, count]) => {
      const [name, site] = JSON.parse(key) as [string, string | null]
      return { name, count, ...(site !== null && { site }) }
    })
    writeJson(file, sites)
  })
  return { before }
}
