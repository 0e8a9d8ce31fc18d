import zlib from 'node:zlib'
import { readRun } from '@retake/tape'
import {
  type CallEvent,
  type InitiationEvent,
  isDelivery,
  type NewEvent,
  readGuards,
  type Tape,
  type TapeEvent,
} from '@retake/tape/format'
import { changesDatabase } from '../boundaries/native/sql.js'
import { errors } from '../errors.js'
import { describe } from './divergence.js'
import type { ContinuePlan } from './plan.js'

/** An operation that left the process, but may or may not have had its effect according to the tape. */
export interface InDoubt {
  /** The event that started it. */
  readonly seq: number
  /** The operation that delivers its answer: the event itself, or the connection of a request. */
  readonly op: number
  /** Label of its step; files have none. */
  readonly step: string | undefined
  readonly what: string
  /** True if a part of the answer has reached the agent. */
  readonly partial: boolean
  readonly site: string | undefined
}

const { gunzipSync, inflateSync, brotliDecompressSync } = zlib

/** The read model with Node's decompressors. */
export const viewOf = (tape: Tape): ReturnType<typeof readRun> =>
  readRun(tape, { gunzip: gunzipSync, inflate: inflateSync, brotli: brotliDecompressSync })

export function findInDoubt(tape: Tape): readonly InDoubt[] {
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
    if (changesFiles(event)) open.set(event.seq, event)
    else if (isDelivery(event)) open.delete(event.op)
  }
  return [...open.values()].map((event) => ({
    seq: event.seq,
    op: event.seq,
    step: undefined,
    what: describe(event),
    partial: false,
    site: event.site,
  }))
}

/** Calls that only read, and so may be repeated. */
const READS =
  /\.(read|stat|lstat|fstat|access|exists|realpath|opendir|open|close|watch|statfs|blob)|readdir|readlink|^FSWatcher$/i

/** True if a call changes something on disk: a file, or a database. */
export function changesFiles(event: Pick<TapeEvent, 'type'>): event is CallEvent {
  if (event.type !== 'call') return false
  const { kind, name, title = '' } = event as CallEvent
  return kind === 'database' ? changesDatabase(name, title) : kind === 'file' && !READS.test(name)
}

/** True if a call only reads names or files, and so may be repeated. */
export const onlyReads = (event: NewEvent<InitiationEvent>): boolean =>
  event.type === 'call' && (event.kind === 'dns' || (event.kind === 'file' && !changesFiles(event)))

/** Throws, before anything runs, if an operation in doubt has no decision. */
export function refuseDoubt(
  tape: Tape,
  { inDoubt, decisions = {} }: Pick<ContinuePlan, 'inDoubt' | 'decisions'>,
): void {
  if (inDoubt !== 'fail') return
  const open = findInDoubt(tape).filter(({ seq }) => decisions[seq] === undefined)
  const names = open.map(({ step, what }) => (step === undefined ? what : `step ${step} (${what})`))
  if (open.length > 0) throw errors.STEP_IN_DOUBT(names.join(', and '))
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
