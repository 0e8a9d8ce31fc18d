import type { CallEvent, ResultEvent, Tape, TapeEvent } from '@retake/tape'
import type { Mask } from './mask.js'
import { maskedBody } from './masked-event.js'

/** Bodies that have changed, by their event. */
export type ChangedBodies = Map<number, Uint8Array>

/** Masks the bodies of a run; those that are pieces of one thing together. */
export function maskBodies(tape: Tape, mask: Mask): ChangedBodies {
  const changed: ChangedBodies = new Map()
  const streams = new Map<string, number[]>()
  for (const event of tape.events(1)) {
    if (tape.bodySize(event.seq) === 0) continue
    const stream = streamOf(event, tape)
    if (stream === undefined) {
      const body = tape.body(event.seq)
      const masked = maskedBody(event, body, mask)
      if (masked !== body) changed.set(event.seq, masked)
    } else {
      const seqs = streams.get(stream) ?? []
      seqs.push(event.seq)
      streams.set(stream, seqs)
    }
  }
  for (const seqs of streams.values()) {
    const pieces = mask.pieces(seqs.map((seq) => tape.body(seq)))
    for (const [index, seq] of seqs.entries()) {
      const piece = pieces[index]
      if (piece !== undefined) changed.set(seq, piece)
    }
  }
  return changed
}

/** What a body is a piece of; undefined when it stands alone. */
function streamOf(event: TapeEvent, tape: Tape): string | undefined {
  if (event.type === 'call' || event.type === 'result') return fileOf(event, tape)
  if (event.type === 'output') return event.stream
  if (event.type === 'deliver') return `${event.op} ${event.part} ${event.pipe ?? ''}`
  if (event.type === 'write' && event.as === undefined) return `${event.op} write`
  return undefined
}

/** A file is often read and written piece by piece; each is a call of its own. */
function fileOf(event: CallEvent | ResultEvent, tape: Tape): string | undefined {
  if (event.as !== 'bytes' && event.as !== 'text') return undefined
  const call = event.type === 'call' ? event : tape.event(event.op)
  if (call.type !== 'call' || call.kind !== 'file' || call.title === undefined) return undefined
  return `${event.type} ${call.title}`
}
