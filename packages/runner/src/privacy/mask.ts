import type { Pattern } from '@retake/engine/runs'
import { RangeFinder } from './find-ranges.js'
import {
  type BodyForm,
  decodeBody,
  Http1Scanner,
  type RunDetails,
  type RunEvent,
  type Step,
  type Tape,
  type TapeEvent,
  TEXT_MEMBERS,
  textMembers,
  attempt,
} from '@retake/tape'
import path from 'node:path'
import { openOwnTape, openTape, TapeWriter } from '@retake/tape/node'

/** How much of an answer is hidden: matches, every text of a model, or all content. */
export const DEGREES = ['matches', 'texts', 'all'] as const
export type Degree = (typeof DEGREES)[number]

/** A report also hides what tools and other services returned. */
const TEXTS = textMembers([
  ...TEXT_MEMBERS,
  ...'output input summary data result message value'.split(' '),
])

/** Overwrites the answer of a step. Keeps HTTP heads and framing. */
export function blankAnswer(tape: Tape, step: Step, degree: Degree, mask: Mask): ChangedBodies {
  const changed: ChangedBodies = new Map()
  const events = step.answerSeqs.map((seq) => tape.event(seq))
  for (const event of events) {
    if (event.type !== 'result' || degree === 'matches') continue
    const body = tape.body(event.seq)
    changed.set(event.seq, blankBody(event.as, body))
  }
  const chunks = events.filter(({ type, seq }) => type === 'deliver' && tape.bodySize(seq) > 0)
  const bodies = chunks.map(({ seq }) => tape.body(seq))
  const request = tape.event(step.seq)
  const whole = Buffer.concat(bodies)
  const positions = contentPositions(request, whole)
  const content = Buffer.from(positions.map((at) => whole[at] ?? 0))
  for (const [start, end] of rangesOf(content, degree, mask))
    for (const at of positions.slice(start, end)) whole[at] = STAR
  for (const [index, piece] of splitLike(bodies, whole).entries())
    changed.set(chunks[index]?.seq ?? 0, piece)
  if (request.type === 'call' && degree !== 'matches')
    changed.set(step.seq, blankBody(request.as, tape.body(step.seq)))
  return changed
}

/** Splits bytes into pieces of the given lengths. */
export function splitLike(pieces: readonly Uint8Array[], whole: Buffer): Buffer[] {
  let at = 0
  return pieces.map(({ length }) => whole.subarray(at, (at += length)))
}

/** Offsets of the content bytes: on a socket, headers and chunk lengths are between them. */
export function contentPositions(request: TapeEvent, whole: Buffer): number[] {
  const everything = Array.from(whole.keys())
  const isOnSocket =
    request.type === 'socket' || (request.type === 'request' && request.socket !== undefined)
  if (!isOnSocket) return everything
  let isContent = false
  const scanner = new Http1Scanner('response', {
    dropBodies: true,
    onBody: (part) => {
      isContent ||= part.length > 0
    },
  })
  const content = everything.filter((at) => {
    isContent = false
    scanner.push(whole.subarray(at, at + 1))
    return isContent
  })
  return scanner.notHttp || scanner.failure !== undefined ? everything : content
}

function rangesOf(joined: Buffer, degree: Degree, mask: Mask): [number, number][] {
  if (degree === 'matches') return mask.byteRanges(joined)
  if (degree === 'all') return [[0, joined.length]]
  // In latin1, a character offset is a byte offset.
  return [...joined.toString('latin1').matchAll(TEXTS)].map(({ 0: all, 2: text = '', index }) => {
    const end = index + all.length - 1
    return [end - text.length, end]
  })
}

/** Members that describe an event rather than its content. */
export const STRUCTURAL: ReadonlySet<string> = new Set([
  'type',
  'seq',
  'at',
  'op',
  'from',
  'socket',
  'kind',
  'seam',
  'part',
  'as',
])
const DROPPED = new Set(['digest'])

/** Masks every text in an event, but not its body. */
export function maskedEvent<E extends TapeEvent>(event: E, mask: Mask): E {
  const members = Object.entries(event)
    .filter(([key]) => !DROPPED.has(key))
    .map(([key, value]) => [
      key,
      STRUCTURAL.has(key) || typeof value === 'number' ? (value as unknown) : mask.deep(value),
    ])
  return Object.fromEntries(members) as E
}

/** Masks a single body. A body that would become unreadable is replaced by `*`. */
function maskedBody(event: TapeEvent, body: Uint8Array, mask: Mask): Uint8Array {
  const as = 'as' in event ? event.as : undefined
  const json = as === 'json' ? Buffer.from(body).toString() : ''
  const hidden = mask.wireBytes(json)
  const readable = hidden === json ? body : Buffer.from(hidden)
  const [masked = readable] = mask.pieces([readable])
  return masked === body || as !== 'json' || isReadable(as, masked) ? masked : blankBody(as, body)
}

/** A body of the same length, filled with `*`. */
export const blankBody = (as: BodyForm | undefined, body: Uint8Array): Uint8Array =>
  as === 'json'
    ? Buffer.from(JSON.stringify('*'.repeat(Math.max(0, body.length - 2))))
    : Buffer.alloc(body.length, '*')

function isReadable(as: BodyForm, body: Uint8Array): boolean {
  try {
    decodeBody(as, body)
    return true
  } catch {
    return false
  }
}

const STAR = 0x2a
/** How `toWire` of the tape package writes byte arrays. */
const WIRE_BYTES = /("\$":"(?:ArrayBuffer|Buffer|DataView|\w+Array)","v":")([A-Za-z0-9+/]+=*)"/g
const isWireBytes = (value: object): value is { $: string; v: string } =>
  '$' in value &&
  'v' in value &&
  typeof value.v === 'string' &&
  /^(?:ArrayBuffer|Buffer|DataView|\w+Array)$/.test(String(value.$))
const strictText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Hides matches behind `*` of the same length in bytes, and counts them. */
export class Mask {
  readonly #finder: RangeFinder
  /** Values hidden so far. */
  hidden = 0

  constructor(patterns: readonly Pattern[]) {
    this.#finder = new RangeFinder(patterns)
  }

  matches(text: string): boolean {
    return this.#finder.find(text).length > 0
  }

  text(text: string): string {
    const ranges = this.#finder.find(text)
    if (ranges.length === 0) return text
    let masked = ''
    let from = 0
    for (const [start, end] of ranges) {
      masked += text.slice(from, start) + '*'.repeat(Buffer.byteLength(text.slice(start, end)))
      from = end
    }
    this.hidden += ranges.length
    return masked + text.slice(from)
  }

  /** Masks every text in a value, including member names. Long numbers that match become null. */
  deep(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number') {
      // Small numbers, such as times and counts, are not personal.
      if (Math.abs(value) < 1e6 || !this.matches(String(value))) return value
      this.hidden += 1
      return null
    }
    // No callbacks: each level of a record would need several frames of the stack.
    if (Array.isArray(value)) {
      const list: unknown[] = []
      for (const each of value as readonly unknown[]) list.push(this.deep(each))
      return list
    }
    if (typeof value !== 'object' || value === null) return value
    if (isWireBytes(value)) return { ...value, v: this.#base64(value.v) }
    const members: [string, unknown][] = []
    for (const [key, member] of Object.entries(value))
      members.push([this.text(key), this.deep(member)])
    return Object.fromEntries(members)
  }

  /** Masks inside of bytes, which are base64 on the tape: that is our encoding, not the agent's. */
  wireBytes(json: string): string {
    return json.replaceAll(
      WIRE_BYTES,
      (all, before: string, base64: string) => `${before}${this.#base64(base64)}"`,
    )
  }

  #base64(base64: string): string {
    const bytes = Buffer.from(base64, 'base64')
    const [masked] = this.pieces([bytes])
    return masked === undefined ? base64 : Buffer.from(masked).toString('base64')
  }

  /**
   * Masks pieces of one content, such as the chunks of an answer, across their borders. Returns
   * undefined for unchanged pieces.
   */
  pieces(pieces: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    const whole = Buffer.concat(pieces)
    const ranges = this.byteRanges(whole)
    if (ranges.length === 0) return pieces.map(() => undefined)
    this.hidden += ranges.length
    for (const [start, end] of ranges) {
      // Overwrites a JSON number by null and blanks, so that the JSON stays valid.
      let [from, to] = [start, end]
      while (isNumeric(whole[from - 1])) from--
      while (isNumeric(whole[to])) to++
      const isNumber =
        to - from >= 4 &&
        whole.subarray(from, to).every(isNumeric) &&
        ':[,'.includes(String.fromCharCode(neighbour(whole, from, -1))) &&
        ',]}'.includes(String.fromCharCode(neighbour(whole, to - 1, 1)))
      if (isNumber) whole.fill(' ', from, to).write('null', from, 'latin1')
      else whole.fill(STAR, start, end)
    }
    return splitLike(pieces, whole).map((masked, index) =>
      masked.equals(pieces[index] ?? masked) ? undefined : masked,
    )
  }

  /** Bytes that are not UTF-8 are matched as latin1. */
  byteRanges(bytes: Buffer): [start: number, end: number][] {
    const utf8 = attempt(() => strictText.decode(bytes))
    const text = utf8 ?? bytes.toString('latin1')
    const ranges = this.#finder.find(text)
    if (utf8 === undefined || text.length === bytes.length)
      return ranges.map(([start, end]) => [start, end])
    let [characters, at] = [0, 0]
    const byteAt = (character: number): number => {
      at += Buffer.byteLength(text.slice(characters, character))
      characters = character
      return at
    }
    return ranges.map(([start, end]) => [byteAt(start), byteAt(end)])
  }
}

const isNumeric = (byte: number | undefined): boolean =>
  byte !== undefined && '0123456789+-.eE'.includes(String.fromCharCode(byte))

/** The next non-blank byte in a direction; 0 at the end. */
function neighbour(bytes: Buffer, from: number, step: 1 | -1): number {
  for (let at = from + step; at >= 0 && at < bytes.length; at += step) {
    const byte = bytes[at] ?? 0
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte
  }
  return 0
}

/** Changed bodies, by event. */
export type ChangedBodies = Map<number, Uint8Array>

/** Masks the bodies of a run. Pieces of one content are masked together. */
export function maskBodies(tape: Tape, mask: Mask): ChangedBodies {
  const changed: ChangedBodies = new Map()
  for (const { events, bodies, isWhole } of streamsOf(tape)) {
    const pieces = isWhole
      ? bodies.map((body, at) => maskedBody(events[at] as TapeEvent, body, mask))
      : mask.pieces(bodies)
    for (const [at, { seq }] of events.entries()) {
      const piece = pieces[at]
      if (piece !== undefined && piece !== bodies[at]) changed.set(seq, piece)
    }
  }
  return changed
}

/** A single body, or the pieces of one content. */
export interface Stream {
  /** Set for an answer. */
  readonly request?: TapeEvent
  readonly events: TapeEvent[]
  readonly bodies: Uint8Array[]
  /** True for a single body. */
  readonly isWhole: boolean
}

export function streamsOf(tape: Tape): Iterable<Stream> {
  const streams = new Map<string, Stream>()
  for (const event of tape.events(1)) {
    if (event.type === 'seal' || tape.bodySize(event.seq) === 0) continue
    const name = streamOf(event, tape)
    const key = name ?? `event ${event.seq}`
    const request = event.type === 'deliver' ? { request: tape.event(event.op) } : {}
    const stream = streams.get(key) ?? {
      events: [],
      bodies: [],
      ...request,
      isWhole: name === undefined,
    }
    stream.events.push(event)
    stream.bodies.push(tape.body(event.seq))
    streams.set(key, stream)
  }
  return streams.values()
}

/** The stream that a body is part of; undefined for a single body. */
function streamOf(event: TapeEvent, tape: Tape): string | undefined {
  if (event.type === 'call' || event.type === 'result') {
    // A file is often read or written by several calls.
    if (event.as !== 'bytes' && event.as !== 'text') return undefined
    const call = event.type === 'call' ? event : tape.event(event.op)
    if (call.type !== 'call' || call.kind !== 'file' || call.title === undefined) return undefined
    return `${event.type} ${call.title}`
  }
  if (event.type === 'output') return event.stream
  if (event.type === 'deliver') return `${event.op} ${event.part} ${event.pipe ?? ''}`
  if (event.type === 'write' && event.as === undefined) return `${event.op} write`
  return undefined
}

/** Transforms the events of a tape. */
interface Rewriting {
  run(run: RunEvent): RunEvent
  details(details: RunDetails): RunDetails
  event(event: TapeEvent): TapeEvent
  /** `seq`: event number in the run. */
  body(seq: number, body: Uint8Array): Uint8Array
}

/**
 * Rewrites the tapes of a run, and the shared part of its ancestors, into another folder. Each tape
 * gets a new hash chain that links to its rewritten parent. The run's own file is last.
 */
export function rewriteLineage(
  files: readonly string[],
  folder: string,
  rewriting: Rewriting,
): string[] {
  const links = files.slice(1).map((file) => openOwnTape(file).run.parent?.seq ?? 0)
  const written: string[] = []
  for (const [position, file] of files.entries()) {
    const to = path.join(folder, `${openOwnTape(file).run.id}.tape`)
    const parent = written.at(-1)
    rewriteOne(file, to, rewriting, {
      until: links[position] ?? Infinity,
      parent: parent === undefined ? undefined : openTape(parent),
    })
    written.push(to)
  }
  return written
}

function rewriteOne(
  file: string,
  to: string,
  rewriting: Rewriting,
  { until, parent }: { readonly until: number; readonly parent: Tape | undefined },
): void {
  const own = openOwnTape(file)
  const link = own.run.parent
  const shift = link === undefined ? 0 : link.seq - 1
  const { format: _format, seq: _seq, at: startAt, ...run } = rewriting.run(own.run)
  let at = startAt
  const chained = link && parent ? { parent: { ...link, chain: parent.chainAt(link.seq - 1) } } : {}
  const writer = TapeWriter.create(to, { ...run, ...chained }, rewriting.details(own.details), {
    now: () => at,
    lock: 'file',
  })
  for (const event of own.events(1, Math.min(own.count, until - shift))) {
    at = event.at
    if (event.type === 'seal') break
    const { seq: _own, at: _at, ...rest } = rewriting.event(event)
    writer.buffer(rest, rewriting.body(event.seq + shift, own.body(event.seq)))
  }
  if (until !== Infinity || own.status === 'sealed') writer.seal()
  else {
    writer.flush()
    writer.close()
  }
}
