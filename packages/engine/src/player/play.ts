import { recordingPorts, servingPorts } from '../session-ports.js'
import path from 'node:path'
import { defined, type RunDetails, stoppedNote, type Tape } from '@retake/tape/format'
import { openOwnTape, TapeWriter } from '@retake/tape/node'
import { redactionOf } from '../secrets/redacted-tape.js'
import type { Redactor } from '../secrets/redactor.js'
import { TapeSource, type TapeSourceOptions } from './tape-source.js'
import { errors, replayDiverged } from '../errors.js'
import { natives } from '../kernel/natives.js'
import { isOverlay } from '../overlay/overlay-changes.js'
import { Overlay } from '../overlay/overlay.js'
import { usesOverlay, ParentWrites } from '../overlay/parent-writes.js'
import { openForReplay } from '../runs/open-for-replay.js'
import { sealKeyFor } from '../secrets/signing-key.js'
import { movedTape } from './moved-tape.js'
import { PinnedSource } from './pinned-source.js'
import type { SettledDoubt } from '../kernel/settle-doubts.js'
import type { ContinuePlan, LiveReport, PinnedReport, Simulator } from './plan.js'
import { AppliedLiveRules } from './live-request-rules.js'
import { outsideRuns } from '../kernel/scope.js'
import { type AnswerSource, outside } from '../kernel/source.js'
import { type Continuation, type PlayerOptions, Player, type Tail } from '../kernel/player.js'
import { BackgroundWriter, type EventWriter } from '../kernel/background-writer.js'
import { RecordSession } from '../kernel/record-session.js'
import { nameSitesAsRecorded } from '../kernel/call-site.js'
import { HandOver, leftAt, plannedParts } from '../kernel/hand-over.js'
import { RunSteps } from './run-steps.js'
import { planOverlay } from './make-plan.js'
import type { IsOutdated, Session } from '../kernel/session.js'
import fs from 'node:fs'

/** Captured before the file boundary is patched. */
const { copyFileSync, existsSync, linkSync, mkdirSync } = fs

/**
 * Links the ancestors of a branch into its folder, where they are looked up by id. Skips those that
 * already exist. Only the file of `tape` itself may have another name.
 */
function linkParents(tape: Tape, folder: string): void {
  const own = path.resolve(tape.path)
  const from = path.dirname(own)
  mkdirSync(folder, { recursive: true })
  for (let id: string | undefined = tape.run.id; id !== undefined;) {
    const named = path.join(from, `${id}.tape`)
    const file: string = id === tape.run.id && !existsSync(named) ? own : named
    link(file, path.join(folder, `${id}.tape`))
    id = path.resolve(folder) === from ? undefined : openOwnTape(file).run.parent?.run
  }
}

/** Creates a hard link, or a copy if the target is on another disk. */
function link(file: string, name: string): void {
  if (existsSync(name)) return
  try {
    linkSync(file, name)
  } catch {
    if (!existsSync(name)) copyFileSync(file, name)
  }
}

/** Time after which an agent counts as stalled: it waits for something that the parent does not have. */
const STALL_MS = 1000

/**
 * After the fork, the parent's tape still answers identical requests and everything in progress, in
 * the recorded order, except for the edits of the fork.
 */
function offlineTail(
  tape: Tape,
  { again, answers }: ContinuePlan,
  options: Pick<TapeSourceOptions, 'from' | 'session' | 'onStopped' | 'keepAlive'>,
  handOver: Tail,
): Tail {
  const source = new TapeSource(tape, { ...options, order: { seed: 0 }, stallMs: STALL_MS })
  return {
    source,
    answerSync: (...call) => handOver.answerSync(...call),
    prepare: (operation) => () => {
      const isAnswered = answers?.op === operation.id
      if (isAnswered) operation.source = 'edited'
      source.takeOver(operation, {
        ...(isAnswered && { given: plannedParts(answers), replaces: answers.replaces }),
        ...(again?.op === operation.id &&
          again.body !== undefined && { request: Buffer.from(again.body, 'base64') }),
      })
    },
  }
}

export interface ContinuedRun {
  readonly session: Player
  readonly tape: Tape
  /** Steps in doubt, with their decisions. */
  readonly settled: readonly SettledDoubt[]
  /** Undefined unless the plan pins steps and the tape was left. */
  readonly pinned: () => PinnedReport | undefined
  /** Undefined unless the plan has rules for live requests. */
  readonly live: () => LiveReport | undefined
  /** Stops without writing an end, so that the run can be resumed. */
  readonly abandon: () => void
}

interface Watching extends Pick<PlayerOptions, 'onStopped'>, Pick<Continuation, 'onFailed'> {
  /** Keeps the process alive until a stall is detected. */
  readonly keepAlive: boolean
  /** Returns the writer of everything that the continued run adds. */
  readonly through?: (writer: TapeWriter) => EventWriter
  readonly simulator?: Simulator | undefined
}

/** Opens the player that executes a plan. Locks a tape that is continued in place. */
export function continueRun(plan: ContinuePlan, watching: Watching): ContinuedRun {
  const {
    through = (same: TapeWriter) => same,
    simulator,
    onStopped,
    onFailed,
    keepAlive,
  } = watching
  // Locked before it is read, so that nobody can append in between.
  let writer = plan.branch === undefined ? TapeWriter.reopen(plan.source) : undefined
  try {
    const recorded = openForReplay(plan.source)
    const redactor = redactorFor(recorded)
    const tape = plan.root ? movedTape(recorded, plan.root) : recorded
    const ports = servingPorts(tape)
    if (plan.root) ports.mask.nameAsRecorded(plan.root)
    // Draws are pinned by recorded site, and a branch that stays outlives the copy.
    const namesRecorded = plan.pinned !== undefined || plan.isDiscarded !== true
    if (plan.root && namesRecorded) nameSitesAsRecorded(plan.root)
    const settled: SettledDoubt[] = []
    const overlay = overlayFor(plan, tape)
    let events: EventWriter | undefined
    let pinned: PinnedSource | undefined
    const live =
      plan.live &&
      new AppliedLiveRules(tape, plan.live, {
        onRefused: ({ what }) => onFailed(errors.LIVE_REQUEST_REFUSED(what)),
      })
    const tailAt = (at: number, owner: Session): Tail => {
      const handOver = new HandOver(tape, plan, {
        at,
        settled,
        steps: new RunSteps(tape),
        machine: ports.machine,
      })
      if (plan.tail === 'offline')
        return offlineTail(
          tape,
          plan,
          {
            from: at,
            session: () => owner,
            // It has no end, so that it can be resumed.
            onStopped: (error) => {
              events?.append(stoppedNote)
              onStopped(error)
            },
            keepAlive,
          },
          handOver,
        )
      const steps = plan.pinned ?? plan.served
      if (steps === undefined) return handOver
      pinned = new PinnedSource(tape, steps, {
        match: plan.pinned === undefined ? 'identical' : 'judged',
        at,
        handOver,
        owner,
        simulator,
        onBroken: onFailed,
        branch: plan.branch?.path ?? plan.source,
        root: plan.root,
      })
      return pinned
    }
    const session = new Player(tape, {
      ...ports,
      errorFor: replayDiverged,
      onStopped,
      keepAlive,
      ...(plan.leave === 'on mismatch' && { stallMs: RERUN_STALL_MS }),
      continuation: {
        leave: plan.leave,
        ...(plan.until !== undefined && { until: plan.until }),
        rules: live,
        isResume: plan.branch === undefined || plan.branch.details.kind === 'resume',
        isRerun: plan.branch?.details.kind === 'rerun',
        overlay,
        onFailed,
        goLive: (at, owner) => {
          writer ??= startBranch(plan, namesRecorded ? recorded : tape, at)
          events = through(writer)
          const tail = tailAt(at, owner)
          const skipsSyncs = plan.isDiscarded === true && pinned !== undefined
          // A repeated request is sent right after the hand-over.
          if (plan.tail === 'live' && !skipsSyncs) events.barrier()
          const recorder = new RecordSession(skipsSyncs ? new BackgroundWriter(events) : events, {
            owner,
            // A branch that continues on its own tape was already shifted when it was created.
            shift: plan.branch === undefined ? Math.max(0, tape.ownFrom - 1) : at - 1,
            answers: plan.draw ? withFirstDraw(tail.source, plan.draw.value) : tail.source,
            signingKey: sealKeyFor(tape.run),
            ...recordingPorts(redactor),
          })
          if (overlay) overlay.later = overlay.parent?.from(at) ?? overlay.later
          for (const file of overlay?.unknown ?? [])
            recorder.note({
              kind: 'boundary',
              name: file,
              text: 'the run had changed this file, and its state at that moment cannot be restored',
            })
          return { recorder, tail }
        },
      },
    })
    return {
      session,
      tape,
      settled,
      pinned: () => pinned?.report,
      live: () => live?.report,
      abandon: () =>
        outsideRuns(() => {
          session.close()
          writer?.close()
          // No branch was started that owns the files.
          if (plan.branch !== undefined && writer === undefined) overlay?.store.remove()
        }),
    }
  } catch (error) {
    writer?.close()
    throw error
  }
}

/** Redacts a branch like its parent, which requires the key. Pseudonyms are never sent to the outside. */
function redactorFor(tape: Tape): Redactor | undefined {
  const redaction = redactionOf(tape)
  if (redaction === undefined && tape.details.redaction !== undefined)
    throw errors.REDACTION_NOT_RESTORABLE(
      tape.run.id,
      `Its personal data is sealed with key ${tape.details.redaction.key}, which is not here: the program would send pseudonyms to the outside.`,
      'Set RETAKE_VAULT_KEY to that key. A replay needs no key.',
    )
  return redaction?.redactor()
}

/** Time after which changed code counts as stalled: it waits for something that the tape does not deliver. */
const RERUN_STALL_MS = 1000

/** Continues the clock of the parent. */
function startBranch(plan: ContinuePlan, tape: Tape, at: number): TapeWriter {
  const { branch } = plan
  if (branch === undefined) throw new Error('only a branch is written to a new tape')
  const elapsedMs = leftAt(tape, plan, at)
  const start = natives.performanceNow() - elapsedMs
  // For a redacted run, these are copied from its tape.
  const { code: recordedCode, ...recorded } = redactionOf(tape)?.tape.details ?? tape.details
  // Changed code may run, and a function does not know its own.
  const code = branch.code ?? (plan.isDiscarded === true ? recordedCode : undefined)
  const details: RunDetails = { ...recorded, ...(code && { code }), branch: branch.details }
  // A discarded branch is not synced; Node's permission model also forbids `fdatasync`.
  const durability = plan.isDiscarded === true ? 'process' : tape.run.durability
  linkParents(tape, path.dirname(branch.path))
  return TapeWriter.create(
    branch.path,
    {
      type: 'run',
      id: branch.id,
      name: branch.name,
      startedAt: Math.round(natives.dateNow() - elapsedMs),
      scope: tape.run.scope,
      node: process.version,
      ...defined({ receipts: tape.run.receipts }),
      parent: { run: tape.run.id, seq: at, chain: tape.chainAt(at - 1) },
      ...(durability && { durability }),
    },
    details,
    { now: () => natives.performanceNow() - start },
  )
}

/** Wraps a source, and replaces the first value that is drawn. */
function withFirstDraw(source: AnswerSource, value: unknown): AnswerSource {
  const draw = source.draw.bind(source)
  // A copy, because all runs share `outside`.
  const changed = source === outside ? { ...outside } : source
  changed.draw = <T>(kind: string, native: () => T, isOutdated?: IsOutdated<T>): T => {
    changed.draw = draw
    draw(kind, native, isOutdated)
    return value as T
  }
  return changed
}

/**
 * The overlay for the files of a branch. A killed branch continues with its own overlay. A branch
 * of a branch gets a new one, because the files of its parent never reached the disk.
 */
function overlayFor({ overlay, branch, root }: ContinuePlan, tape: Tape): Overlay | undefined {
  const options = { parent: new ParentWrites(tape), moved: root }
  if (overlay !== undefined) return new Overlay(overlay, options)
  if (!usesOverlay(tape)) return undefined
  const own = planOverlay(tape.path)
  return branch === undefined
    ? new Overlay(own, { ...options, isFilled: isOverlay(own) })
    : new Overlay(planOverlay(branch.path), options)
}
