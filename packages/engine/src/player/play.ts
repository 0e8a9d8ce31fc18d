import path from 'node:path'
import type { RunDetails, Tape } from '@retake/tape'
import { openOwnTape, TapeWriter } from '@retake/tape/node'
import { TapeAnswers } from './tape-source.js'
import { natives } from '../natives.js'
import { keepsOwnFiles } from '../overlay/keeps-own-files.js'
import { isOverlay } from '../overlay/overlay-changes.js'
import { Overlay } from '../overlay/overlay.js'
import { ParentWrites } from '../overlay/parent-writes.js'
import { openForReplay } from '../open-for-replay.js'
import { KeptAnswers } from './pinned-source.js'
import type { ContinuePlan, KeptReport, SettledDoubt, Simulator } from './plan.js'
import { outsideRuns } from '../scope.js'
import { type AnswerSource, outside } from './source.js'
import { type ContinuedOptions, ContinuedSession } from './player.js'
import { RecordSession } from '../sessions/record-session.js'
import { CarryOver } from './hand-over.js'
import { overlayOf } from './make-plan.js'
import type { Operation, Session } from '../sessions/session.js'
import fs from 'node:fs'

/** Captured before the file boundary is patched. */
const { copyFileSync, existsSync, linkSync, mkdirSync } = fs

/**
 * Puts the tapes that a branch goes on from into the folder of the branch, where
 * they are looked for. Nothing happens where they lie there already.
 */
function linkParents(tape: Tape, folder: string): void {
  const from = path.dirname(path.resolve(tape.path))
  if (path.resolve(folder) === from) return
  mkdirSync(folder, { recursive: true })
  for (let id: string | undefined = tape.run.id; id !== undefined;) {
    const file = path.join(from, `${id}.tape`)
    const isNamed = existsSync(file)
    link(isNamed ? file : path.resolve(tape.path), path.join(folder, `${id}.tape`))
    id = isNamed ? openOwnTape(file).run.parent?.run : undefined
  }
}

/** Another name for the file; a copy on another disk. */
function link(file: string, name: string): void {
  if (existsSync(name)) return
  try {
    linkSync(file, name)
  } catch {
    if (!existsSync(name)) copyFileSync(file, name)
  }
}

/** An agent that waits for something the parent does not have is noticed after this long. */
const STALL_MS = 1000

/** After the fork, too, the parent's tape answers: in the recorded order, to whatever is asked identically. */
function offlineAnswers(
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
function carryOffline(operation: Operation, answers: TapeAnswers, plan: ContinuePlan): void {
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

/** A run that goes on from its tape. */
export interface ContinuedRun {
  readonly session: ContinuedSession
  readonly tape: Tape
  /** What was in doubt, and what was done about it. */
  readonly settled: readonly SettledDoubt[]
  /** What became of held steps; undefined unless the plan holds some and the tape was left. */
  readonly kept: () => KeptReport | undefined
  /** Stops without an end: what was recorded stays, and can be resumed. */
  readonly abandon: () => void
}

type Watching = Pick<ContinuedOptions, 'onStopped' | 'onFailed' | 'onDivergence' | 'keepAlive'> & {
  /** The writer was opened: it may be watched. */
  readonly onWriter?: (writer: TapeWriter) => void
  /** Answers the free steps of a plan that holds others. */
  readonly simulator?: Simulator | undefined
}

/** Opens the session that carries out a plan. A tape that is continued itself is locked from here on. */
export function continueRun(plan: ContinuePlan, watching: Watching): ContinuedRun {
  const { onWriter, simulator, ...callbacks } = watching
  // Locked before it is read: nobody may add to it in between.
  let writer = plan.branch === undefined ? TapeWriter.reopen(plan.source) : undefined
  try {
    const tape = openForReplay(plan.source)
    const carryOver = new CarryOver(tape, plan)
    const overlay = overlayFor(plan, tape)
    let offline: TapeAnswers | undefined
    let kept: KeptAnswers | undefined
    const session = new ContinuedSession(tape, {
      ...callbacks,
      leave: plan.leave,
      isResume: plan.branch === undefined || plan.branch.details.kind === 'resume',
      overlay,
      ...(plan.until !== undefined && { until: plan.until }),
      ...(plan.leave === 'on mismatch' && { stallMs: RERUN_STALL_MS }),
      goLive: (at, _why, owner) => {
        writer ??= startBranch(plan, tape, at)
        onWriter?.(writer)
        // A branch that is continued on its own tape was moved before.
        const shift = plan.branch === undefined ? Math.max(0, tape.ownFrom - 1) : at - 1
        offline = plan.tail === 'offline' ? offlineAnswers(tape, at, owner, callbacks) : undefined
        kept =
          plan.kept &&
          new KeptAnswers(tape, plan.kept, {
            at,
            session: () => recorder,
            simulator,
            onBroken: callbacks.onFailed,
          })
        // A step that is asked again leaves now: what it depends on must be on disk.
        if (kept === undefined && offline === undefined) writer.barrier()
        const answers = withEditedDraw(plan, kept ?? offline ?? outside)
        const recorder: RecordSession = new RecordSession(writer, {
          owner,
          shift,
          answers,
          flags: tape.run.flags,
          // What a fork that was killed came to is not looked at.
          inBackground: kept !== undefined,
        })
        if (overlay) noteFilesAt(at, overlay, recorder)
        return recorder
      },
      carryOver: (operation, recorder) => {
        if (kept?.carry(operation) === true) return
        if (offline === undefined) carryOver.carry(operation, recorder, session.position)
        else carryOffline(operation, offline, plan)
      },
      answerSync: (op, call, recorder) =>
        kept === undefined
          ? carryOver.answerSync(op, call, recorder)
          : recorder.answerSync(op, call),
    })
    return {
      session,
      tape,
      settled: carryOver.settled,
      kept: () => kept?.report,
      abandon: () =>
        outsideRuns(() => {
          session.close()
          writer?.close()
          // Nothing was recorded, so there is no branch that the files could belong to.
          if (plan.branch !== undefined && !session.isLive) overlay?.discard()
        }),
    }
  } catch (error) {
    writer?.close()
    throw error
  }
}

/** Changed code that waits for something else than the tape brings is noticed after this long. */
const RERUN_STALL_MS = 1000

/** The clock of a branch goes on where its parent's was. */
function startBranch({ branch }: ContinuePlan, tape: Tape, at: number): TapeWriter {
  if (branch === undefined) throw new Error('only a branch is written to a new tape')
  const elapsedMs = tape.event(at - 1).at
  const start = natives.performanceNow() - elapsedMs
  const details: RunDetails = { ...tape.details, branch: branch.details }
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
      flags: tape.run.flags,
      parent: { run: tape.run.id, seq: at, chain: tape.chainAt(at - 1) },
    },
    details,
    { now: () => natives.performanceNow() - start },
  )
}

/** The same answers, but for a first value that a fork puts in place of a recorded one. */
function withEditedDraw({ draw }: ContinuePlan, answers: AnswerSource): AnswerSource {
  if (draw === undefined) return answers
  let edited: { readonly value: unknown } | undefined = draw
  const drawEdited = <T>(kind: string, native: () => T): T => {
    const value = answers.draw(kind, native)
    if (edited === undefined) return value
    const given = edited.value as T
    edited = undefined
    return given
  }
  return new Proxy(answers, {
    get: (target, key) => {
      if (key === 'draw') return drawEdited
      const member: unknown = Reflect.get(target, key, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

/**
 * Where the files of a branch go. A branch that was killed goes on with the overlay
 * it has; one that is branched off again gets its own, because its files never
 * reached the disk.
 */
function overlayFor({ overlay, branch }: ContinuePlan, tape: Tape): Overlay | undefined {
  const options = { parent: new ParentWrites(tape) }
  if (overlay !== undefined) return new Overlay(overlay, options)
  if (!keepsOwnFiles(tape)) return undefined
  const own = overlayOf(tape.path)
  return branch === undefined
    ? new Overlay(own, { ...options, isFilled: isOverlay(own) })
    : new Overlay(overlayOf(branch.path), options)
}

function noteFilesAt(at: number, overlay: Overlay, recorder: RecordSession): void {
  overlay.later = overlay.parent?.from(at) ?? overlay.later
  for (const place of overlay.unknown)
    recorder.note({
      kind: 'boundary',
      name: place,
      text: 'the run had changed this file by now; the disk is no longer such that it could be put back to that moment',
    })
}
