import { createHash, createHmac } from 'node:crypto'
import {
  maskModelText,
  SecretMask,
  type Pattern,
  personalValues,
  textsInBase64,
  type VaultKey,
} from '@retake/engine/runs'
import {
  parseJson,
  readGuards,
  type RunDetails,
  type Tape,
  type TapeEvent,
  attempt,
} from '@retake/tape'
import {
  contentPositions,
  splitLike,
  type rewriteLineage,
  type Stream,
  streamsOf,
  STRUCTURAL,
} from './mask.js'
import { viewRun } from '../runs/view-run.js'

const strictText = new TextDecoder('utf-8', { fatal: true })

/** Personal data to look for on a tape. */
export interface PersonalRules {
  readonly patterns: readonly Pattern[]
  /** Includes everything said: messages, answers, tool arguments and results, output. */
  readonly content?: boolean
}

/**
 * Values on a tape that match patterns. Looks at every event and body, at joined pieces of a
 * stream, at content as a viewer shows it (decompressed, streams joined), and into base64.
 */
export class PersonalData {
  readonly values = new Map<string, string>()
  /** Base64 that contains a value too short to be recognised in encoded form. */
  readonly encoded = new Map<string, string>()
  readonly #seen = new Set<string>()

  constructor(
    tape: Tape,
    readonly rules: PersonalRules,
  ) {
    this.#walk(tape.details)
    this.#text(tape.run.name)
    for (const event of tape.events(1)) this.#walk(withoutStructure(event))
    for (const { bodies } of streamsOf(tape)) this.#bytes(Buffer.concat(bodies))
    for (const step of viewRun(tape).steps) {
      this.#walk(attempt(() => step.exchange()))
      this.#walk(attempt(() => [step.call(), step.mcp(), step.title, step.error]))
    }
    if (rules.content !== true) return
    for (const step of viewRun(tape).steps) {
      const { messages = [], answer = [] } = attempt(() => step.exchange()) ?? {}
      this.#say([...messages, ...answer])
      const { args, result, output } = (step.kind === 'tool' && attempt(() => step.call())) || {}
      this.#say([args, result, output])
    }
    for (const { events, bodies } of streamsOf(tape))
      if (events[0]?.type === 'output') this.#say(Buffer.concat(bodies).toString())
  }

  /** Each line is a separate value, because programs split texts there. */
  #say(value: unknown): void {
    if (typeof value === 'string') {
      const json = /^\s*[[{]/.test(value) ? parseJson(value) : undefined
      if (json !== undefined) this.#say(json)
      else
        for (const line of value.split(/\r?\n/).map((each) => each.trim()))
          // A short word may be the name of a member, which must not change.
          if (/[\p{L}\p{N}]/u.test(line) && (line.length >= 8 || !/^[\da-z_]*$/.test(line)))
            this.values.set(line, 'content')
    } else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value))
      for (const [name, member] of Object.entries(value)) if (!NOT_SAID.has(name)) this.#say(member)
  }

  #bytes(bytes: Buffer): void {
    const text = attempt(() => strictText.decode(bytes)) ?? bytes.toString('latin1')
    this.#text(text)
    maskModelText(text, (modelText) => {
      this.#text(modelText)
      return modelText
    })
    for (const [run, decoded] of textsInBase64(text))
      if (this.#text(decoded)) this.encoded.set(run, decoded)
  }

  #walk(value: unknown): void {
    if (typeof value === 'string') this.#text(value)
    else if (value instanceof Uint8Array) this.#bytes(Buffer.from(value))
    else if (value instanceof Map) this.#walk([...value])
    else if (value instanceof Error) this.#walk([value.message, value.stack])
    else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value))
      for (const [name, member] of Object.entries(value)) {
        this.#text(name)
        this.#walk(member)
      }
  }

  /** Returns true if it contains a value too short to be found in encoded form. */
  #text(text: string): boolean {
    if (text.length < LENGTH_MIN || this.#seen.has(text)) return false
    if (text.length <= SEEN_MAX) this.#seen.add(text)
    let hasShort = false
    for (const { value, kind } of personalValues(text, this.rules.patterns)) {
      hasShort ||= value.length < 8
      this.values.set(value, kind)
    }
    return hasShort
  }
}

const NOT_SAID = new Set(['role', 'type', 'id', 'name', 'model', 'mediaType', 'mimeType'])
const LENGTH_MIN = 2
const SEEN_MAX = 4096

function withoutStructure(event: TapeEvent): Partial<TapeEvent> {
  const members = Object.entries(event).filter(([name]) => !STRUCTURAL.has(name))
  return Object.fromEntries(members.filter(([name]) => name !== 'digest'))
}

/**
 * Replaces personal data by pseudonyms, in every form in which a recording hides secrets. All
 * pieces of a stream are known here, so no part of a split value remains.
 */
export function withPseudonyms(
  tape: Tape,
  { values, encoded }: PersonalData,
  key: VaultKey,
): Parameters<typeof rewriteLineage>[2] {
  const mask = new SecretMask()
  for (const [value, kind] of values) mask.hideWordAs(value, key.pseudonym(kind, value))
  for (const [run, decoded] of encoded) {
    const hidden = Buffer.from(mask.text(decoded)).toString(
      /[-_]/.test(run) ? 'base64url' : 'base64',
    )
    mask.hideWordAs(run, hidden.slice(0, run.length))
  }
  // Otherwise the hash of a guarded call would confirm guessed arguments.
  const digestKey = key.derive('digests')
  for (const { fingerprint } of readGuards(tape).calls.map(({ intent }) => intent)) {
    const keyed = createHmac('sha256', digestKey).update(fingerprint).digest('hex')
    mask.hideWordAs(fingerprint, keyed.slice(0, fingerprint.length))
  }
  const bodies = new Map<number, Uint8Array>()
  const digests = new Map<string, string>()
  for (const stream of streamsOf(tape)) maskStream(stream, mask, bodies)
  // Recomputes digests of data written to a socket or child, which deliveries refer to.
  const written = new Map<number, { before: Uint8Array[]; after: Uint8Array[] }>()
  for (const event of tape.events(1)) {
    if (event.type === 'write') {
      const body = tape.body(event.seq)
      const sent = written.get(event.op) ?? { before: [], after: [] }
      sent.before.push(body)
      sent.after.push(bodies.get(event.seq) ?? body)
      written.set(event.op, sent)
    }
    if (event.type !== 'deliver' || !event.digest || event.written === undefined) continue
    const { before = [], after = [] } = written.get(event.op) ?? {}
    if (sha256(before, event.written) === event.digest)
      digests.set(event.digest, sha256(after, event.written))
  }

  const hidden = <T>(value: T): T => JSON.parse(mask.text(JSON.stringify(value))) as T
  return {
    run: (run) => ({ ...run, name: mask.text(run.name) }),
    details: (details) => ({ ...hidden<RunDetails>(details), pseudonymKey: key.id }),
    event: (event) => {
      const masked = { ...event, ...hidden(withoutStructure(event)) } as TapeEvent
      const digest = 'digest' in masked ? digests.get(masked.digest) : undefined
      return digest === undefined ? masked : ({ ...masked, digest } as TapeEvent)
    },
    body: (seq, body) => bodies.get(seq) ?? body,
  }
}

function maskStream(
  { events, bodies, request }: Stream,
  mask: SecretMask,
  changed: Map<number, Uint8Array>,
): void {
  const [first] = events
  if (first === undefined || first.type === 'seal') return
  const whole = Buffer.concat(bodies)
  const text = whole.toString('latin1')
  const isChunked =
    /^transfer-encoding:.*chunked/im.test(text) && !/^content-encoding:/im.test(text)
  // Must come first, because part of a value split by framing may match on its own.
  const positions = request && isChunked ? contentPositions(request, whole) : []
  const content = maskSpread(Buffer.from(positions.map((at) => whole[at] ?? 0)), mask)
  const framed = Buffer.from(whole)
  for (const [index, at] of positions.entries()) framed[at] = content[index] ?? 0
  const masked = Buffer.from(mask.body(first, maskSpread(framed, mask)))
  const pieces = bodies.length === 1 ? [masked] : splitLike(bodies, masked)
  if (bodies.length > 1 && masked.length !== whole.length)
    // The length of compressed content changes, so each piece gets its own.
    for (const [at, event] of events.entries()) {
      const body = bodies[at] ?? new Uint8Array()
      pieces[at] = Buffer.from(event.type === 'seal' ? body : mask.body(event, body))
    }
  for (const [at, event] of events.entries()) {
    const piece = pieces[at]
    if (piece !== undefined && !piece.equals(bodies[at] ?? piece)) changed.set(event.seq, piece)
  }
}

/** Masks the text in the bytes of an answer, across its events. Keeps the length. */
function maskSpread(bytes: Buffer, mask: SecretMask): Buffer {
  const text = bytes.toString('latin1')
  const masked = maskModelText(text, (modelText) => mask.text(modelText))
  const whole = mask.text(masked)
  return Buffer.from(whole.length === text.length ? whole : masked, 'latin1')
}

const sha256 = (pieces: readonly Uint8Array[], length: number): string =>
  createHash('sha256').update(Buffer.concat(pieces).subarray(0, length)).digest('hex')
