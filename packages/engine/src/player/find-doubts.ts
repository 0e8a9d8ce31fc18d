import zlib from 'node:zlib'
import { readRun } from '@retake/tape'
import {
  type CallEvent,
  changesDisk,
  fileEffect,
  type InitiationEvent,
  isDelivery,
  type NewEvent,
  type Tape,
  type TapeEvent,
} from '@retake/tape/format'
import { readGuards } from '@retake/tape/guards'
import { changesDatabase } from '../boundaries/native/sql.js'
import type { Doubt, FileFinding } from '../kernel/settle-doubts.js'
import { kernelErrors } from '../kernel/errors.js'
import { lookAtFile } from '../file-state.js'
import { describeEvent } from '../kernel/event-text.js'
import type { ContinuePlan } from './plan.js'

/** A doubt as it is reported. */
export interface InDoubt extends Doubt {
  /** The operation that delivers its answer: the event itself, or the connection of a request. */
  readonly op: number
  /** Label of its step; files have none. */
  readonly step: string | undefined
  readonly what: string
  readonly site: string | undefined
  /** Set for a write to a file that has been compared with its state before the write. */
  readonly finding?: FileFinding
}

const { gunzipSync, inflateSync, brotliDecompressSync } = zlib

/** The read model with Node's decompressors. */
export const viewOf = (tape: Tape): ReturnType<typeof readRun> =>
  readRun(tape, { gunzip: gunzipSync, inflate: inflateSync, brotli: brotliDecompressSync })

export function findDoubts(tape: Tape): readonly InDoubt[] {
  const steps = viewOf(tape)
    .recordedSteps.filter(({ state }) => state === 'in doubt')
    .map(({ seq, label, title, answerSeqs, site }) => {
      const event = tape.event(seq)
      return {
        seq,
        op: deliveringOp(event),
        step: label,
        what: title,
        partial: answerSeqs.length > 0,
        site,
      }
    })
  return [...steps, ...unfinishedFileCalls(tape)].toSorted((a, b) => a.seq - b.seq)
}

/** The operation that delivers an answer: the event itself, a connection, or a process with pipes. */
export const deliveringOp = (event: TapeEvent): number => {
  if (event.type === 'request') return event.socket ?? event.seq
  return event.type === 'write' || event.type === 'deliver' ? event.op : event.seq
}

function unfinishedFileCalls(tape: Tape): InDoubt[] {
  if (tape.status !== 'truncated') return []
  const open = new Map<number, CallEvent>()
  for (const event of tape.events()) {
    if (changesFiles(event) && !isSync(event)) open.set(event.seq, event)
    else if (isDelivery(event)) open.delete(event.op)
  }
  return [...open.values()].map((event) => ({
    seq: event.seq,
    op: event.seq,
    step: undefined,
    what: describeEvent(event),
    partial: false,
    site: event.site,
  }))
}

/**
 * Operations in doubt after the files have been checked. `files` are writes of which the disk shows
 * how far they got, by the number of their event; these need no decision.
 */
export function lookAtDoubts(tape: Tape): {
  readonly open: readonly InDoubt[]
  readonly files: Readonly<Record<string, FileFinding>>
} {
  const files: Record<string, FileFinding> = {}
  const open: InDoubt[] = []
  for (const doubt of findDoubts(tape)) {
    const finding = findingOf(tape, doubt)
    if (finding !== undefined && SETTLED.has(finding.state)) files[doubt.seq] = finding
    else open.push(finding === undefined ? doubt : { ...doubt, finding })
  }
  return { open, files }
}

const SETTLED: ReadonlySet<string> = new Set(['unchanged', 'complete', 'partial'])

function findingOf(tape: Tape, { seq }: InDoubt): FileFinding | undefined {
  const event = tape.event(seq)
  if (event.type !== 'call' || event.file === undefined) return undefined
  const { path } = event.file
  for (const later of tape.events(seq + 1))
    if (later.type === 'call' && later.file?.path === path) return { state: 'shared' }
  return lookAtFile(event.file, tape.body(seq))
}

/** True if a call changes something on disk: a file, or a database. */
export function changesFiles(event: Pick<TapeEvent, 'type'>): event is CallEvent {
  if (event.type !== 'call') return false
  const { kind, name, title = '' } = event as CallEvent
  return kind === 'database' ? changesDatabase(name, title) : kind === 'file' && changesDisk(name)
}

/** True if a call only reads names or files, and so may be repeated. */
export const onlyReads = (event: NewEvent<InitiationEvent>): boolean =>
  event.type === 'call' && (event.kind === 'dns' || (event.kind === 'file' && !changesFiles(event)))

/** True if a call writes to the disk what the system already has; a kill loses nothing of that. */
const isSync = ({ kind, name }: Pick<CallEvent, 'kind' | 'name'>): boolean =>
  kind === 'file' && fileEffect(name) === 'flush'

/** True if a call without a recorded answer may be made again without a decision. */
export const isRepeatable = (event: NewEvent<InitiationEvent>): boolean =>
  onlyReads(event) || (event.type === 'call' && isSync(event))

/** Throws, before anything runs, if an operation in doubt has no decision. */
export function refuseDoubt(
  tape: Tape,
  doubts: readonly InDoubt[],
  { inDoubt, decisions = {} }: Pick<ContinuePlan, 'inDoubt' | 'decisions'>,
): void {
  if (inDoubt !== 'fail') return
  const open = doubts.filter(({ seq }) => decisions[seq] === undefined)
  const names = open.map(({ step, what }) => (step === undefined ? what : `step ${step} (${what})`))
  const files = open.flatMap(({ seq, finding }) => {
    const event = tape.event(seq)
    return finding === undefined || event.type !== 'call' || event.file === undefined
      ? []
      : [{ finding, before: event.file }]
  })
  if (open.length > 0) throw kernelErrors.STEP_IN_DOUBT(names.join(', and '), files)
}

/**
 * Guarded calls of a killed run that have no result and can be repeated without a decision, by the
 * number of the event that started them: their tool is idempotent, can check whether the call
 * happened, or was never started.
 */
export function safeToRepeat(tape: Tape): Readonly<Record<string, 'retry'>> {
  const safe = readGuards(tape).calls.filter(
    ({ facts, isNested, intent, state }) =>
      facts === undefined &&
      !isNested &&
      (intent.idempotent === true || intent.verifiable === true || state !== 'in doubt'),
  )
  return Object.fromEntries(safe.map(({ callSeq }) => [callSeq, 'retry']))
}
