import { BodyReader } from '../format/body-reader.js'
import { ByteWindow } from '../format/byte-window.js'
import { Chain, SHORT_BODY_MAX_BYTES } from '../format/chain.js'
import { laterReference, unknownFields } from '../format/check-records.js'
import { type Envelope, parseDetails, RecordFault } from '../format/codec.js'
import { TapeError } from '../format/errors.js'
import { decodeBody } from '../format/event-body.js'
import { isHeavy, type SealEvent, type TapeEvent } from '../format/events.js'
import { type Frame, type Frames, PlainFrames, readFrame } from '../format/frames.js'
import { encodeIndex, INDEX_EVERY, readIndex } from '../format/index-footer.js'
import { openLayout } from '../format/layout.js'
import { MerkleTree } from '../format/merkle.js'
import type { ByteSource, TapePlatform } from '../format/platform.js'
import { type Recovered, recover, scanRecords, startsBlock } from '../format/recovery.js'
import { checkSignature } from '../format/seal.js'
import { attempt } from '../format/values/attempt.js'
import { factsProblem, guardNoteProblem, intentProblem } from '../guards/check-guard-facts.js'
import { GUARD_NOTES } from '../guards/guard-note.js'

/** What a tape must be, by the code of the problem if it is not. docs/tape-format.md lists the codes. */
export const FORMAT_RULES = {
  EMPTY: 'The file has bytes.',
  NOT_A_TAPE: 'The file starts with `{"seq":0,"at":`.',
  FROM_FUTURE: 'The number of the format is known.',
  LINE: 'A record is an event, a TAB, an envelope that ends with `crc`, and a line feed.',
  LINE_CRC: 'The checksum of a line covers it, seeded with that of the run record.',
  NUMBER: 'Events are numbered from 0 without gaps.',
  STORED: 'The stored bytes are as many as the envelope says, and a line feed follows.',
  STORED_CRC: 'The checksum of the stored bytes covers them, with the same seed.',
  TEXT: 'Events and envelopes are compact JSON in UTF-8; `seq`, `at`, `type` and `stored` come first.',
  EVENT: 'Every field of an event has its type.',
  UNKNOWN_FIELD: 'Every field is one of the format.',
  REFERENCE: 'An event names earlier events of the right type.',
  ORDER: 'A run ends once, and only notes and the seal follow.',
  DETAILS: 'The body of the run record is the details of the run.',
  GUARD: 'Decisions, facts and notes of a guard have their fields.',
  ENVELOPE: 'Every field of an envelope has its type, and sources of bodies are earlier events.',
  BODY: 'The body can be built, and has the length and sha256 of its envelope.',
  BODY_FORM: 'A body is what `as` says.',
  SHA: 'Heavy events with a body over 511 bytes have `sha`; others do not.',
  CHAIN: 'Heavy events have `chain`, which follows from all events before them; others do not.',
  SEAL: 'The seal counts the events, and has their Merkle root and a valid signature, if any.',
  INDEX: 'Only the index, which names every 32nd record and the seal, follows the seal.',
  BLOCK: 'The blocks of a packed tape are adjacent and contain the events that the index says.',
} as const

export type FormatCode = keyof typeof FORMAT_RULES

export interface FormatProblem {
  readonly code: FormatCode
  /** Byte of the record in the file; for a record in a block, of the block. */
  readonly offset: number
  /** Position of the event in the file. */
  readonly seq?: number
  readonly why: string
}

export interface FormatReport {
  readonly valid: boolean
  /**
   * `cut off`: the recorder was killed, or is still running; the format allows this. `damaged`:
   * records after a broken one were not read. `unreadable`: not even the first one is whole.
   */
  readonly state: 'sealed' | 'ended' | 'cut off' | 'damaged' | 'unreadable'
  readonly events: number
  /** Bytes after the last whole record of a tape that was cut off. */
  readonly tornBytes: number
  readonly problems: readonly FormatProblem[]
}

/** More problems of one tape are not listed: they follow from the first ones. */
const PROBLEMS_MAX = 100

/**
 * Checks a tape against every rule of the format, for writers in any language. Unlike a reader, it
 * goes on after a problem, and refuses fields that readers ignore. Not promised: a branch is
 * checked without its parent, so references to events of the parent are not followed.
 */
export const validateTape = (platform: TapePlatform, source: ByteSource): FormatReport =>
  new FormatCheck(platform, source).run()

/** The types of events that a reference may name, by the field and type that name them. */
const INITIATIONS = ['request', 'call', 'timer', 'work', 'socket']
const NAMED: Readonly<Record<string, readonly string[]>> = {
  response: ['request'],
  result: ['call'],
  deliver: INITIATIONS,
  write: ['call'],
  request: ['socket'],
}

const EVENT_HEAD =
  /^\{"seq":(?:0|[1-9]\d*),"at":(?:0|[1-9]\d*)(?:\.\d+)?,"type":"(?<type>[^"]*)"(?<rest>,"format":\d|.)/
const ENVELOPE_TEXT = /^\{(?:"stored":[1-9]\d*[,}])?(?!.*[,{]"stored":.*"stored":)/
const STRINGS = /"(?:[^"\\]|\\.)*"/g

class FormatCheck {
  readonly #problems: FormatProblem[] = []
  readonly #window: ByteWindow
  /** Types of the events that others may name. */
  readonly #types = new Map<number, string>()
  #chain: Chain
  readonly #tree: MerkleTree
  /** False after a light event that could not be read: the next link cannot be computed. */
  #isLinked = true
  /** False after a heavy event that could not be read: the root cannot be computed. */
  #hasAllLinks = true
  #hasEnded = false
  /** From a position in the file to the number in the run, by which others name it. */
  #shift = 0
  #state: FormatReport['state'] = 'unreadable'
  #tornBytes = 0

  constructor(
    private readonly platform: TapePlatform,
    private readonly source: ByteSource,
  ) {
    this.#window = new ByteWindow(source)
    this.#chain = new Chain(platform)
    this.#tree = new MerkleTree(platform)
  }

  run(): FormatReport {
    const frames = this.#frames()
    if (frames !== undefined) this.#checkRecords(frames)
    return {
      valid: this.#problems.length === 0,
      state: this.#state,
      events: frames?.count ?? 0,
      tornBytes: this.#tornBytes,
      problems: this.#problems,
    }
  }

  #add(code: FormatCode, offset: number, why: string, seq?: number): void {
    if (this.#problems.length < PROBLEMS_MAX)
      this.#problems.push({ code, offset, ...(seq !== undefined && { seq }), why })
  }

  /** The records that are whole; adds what is wrong between and after them. */
  #frames(): Frames | undefined {
    let scanned: Recovered
    try {
      scanned = scanRecords(this.platform, this.source, '')
    } catch (error) {
      if (!(error instanceof TapeError)) throw error
      const codes: Readonly<Record<string, FormatCode>> = {
        TAPE_EMPTY: 'EMPTY',
        TAPE_NOT_A_TAPE: 'NOT_A_TAPE',
        TAPE_FROM_FUTURE: 'FROM_FUTURE',
      }
      const code = codes[error.code]
      if (code === undefined) this.#explainBroken(0, 0, 0)
      else this.#add(code, 0, error.why)
      return undefined
    }
    const { offsets, seed, end, hasSeal } = scanned
    if (!hasSeal && startsBlock(this.#window, end)) {
      try {
        const { frames } = openLayout(this.platform, this.source, '')
        this.#state = 'sealed'
        return frames
      } catch (error) {
        if (!(error instanceof TapeError)) throw error
        this.#state = 'damaged'
        this.#add('BLOCK', end, error.why, offsets.length)
      }
    } else if (hasSeal) this.#checkIndex(scanned)
    else {
      this.#state = scanned.hasEnd ? 'ended' : 'cut off'
      this.#tornBytes = this.source.size - end
      try {
        recover(this.platform, this.source, '')
      } catch (error) {
        if (!(error instanceof TapeError)) throw error
        this.#state = 'damaged'
        this.#tornBytes = 0
        this.#explainBroken(seed, end, offsets.length)
      }
    }
    const layout = { seed, offsets: Float64Array.from(offsets), path: '', checked: true }
    return new PlainFrames(this.platform, this.source, layout)
  }

  /** Names the first thing that is wrong with the record at an offset. */
  #explainBroken(seed: number, offset: number, seq: number): void {
    const add = (code: FormatCode, why: string): void => this.#add(code, offset, why, seq)
    const window = this.#window
    const frame = readFrame(this.platform, window, seed, offset, seq)
    if (frame === 'end' || frame === 'no-line')
      return add('LINE', 'The line does not end with a line feed.')
    if (frame === 'wrong-seq') return add('NUMBER', `The number of the event is not ${seq}.`)
    if (frame === 'short-body') return add('STORED', 'The file ends inside of the stored bytes.')
    if (frame === 'bad-line') {
      const start = offset - window.start
      const end = window.newline(offset) - window.start
      const line = this.platform.text(window.bytes, start, end)
      if (!line.startsWith('{"seq":')) return add('LINE', 'The line does not start with {"seq":.')
      const crc = /\t\{.*"crc":"(?:[0-9a-f]{8})?([0-9a-f]{8})"\}$/.exec(line)?.[1]
      if (crc === undefined)
        return add('LINE', 'The line has no envelope that ends with a crc of 8 or 16 digits.')
      const right = this.platform.crc32(window.bytes.subarray(start, end - 10), seed)
      return add('LINE_CRC', `The crc of the line is ${hex(right)}, not ${crc}.`)
    }
    const { bodyOffset, line } = frame
    const stored = this.source.read(bodyOffset, line.stored + 1)
    const crc = this.platform.crc32(stored.subarray(0, line.stored), seed)
    if (crc !== line.storedCrc)
      return add(
        'STORED_CRC',
        `The crc of the stored bytes is ${hex(crc)}, not ${hex(line.storedCrc)}.`,
      )
    return add('STORED', 'No line feed follows the stored bytes.')
  }

  #checkIndex({ seed, offsets, end }: Recovered): void {
    const seal = offsets.at(-1) ?? 0
    const every = offsets.filter((_, seq) => seq % INDEX_EVERY === 0)
    const right = { count: offsets.length, seal, offsets: every }
    const bytes = encodeIndex(this.platform, seed, right)
    const rest = this.source.read(end, this.source.size - end)
    this.#state = 'sealed'
    if (rest.length < bytes.length && rest.every((byte, at) => byte === bytes[at])) {
      this.#state = 'cut off'
      this.#tornBytes = rest.length
      return
    }
    const found = readIndex(this.platform, this.source, seed)
    if (found?.offset !== end)
      return this.#add('INDEX', end, `${rest.length} bytes follow the seal that are not an index.`)
    const { index } = found
    for (const field of ['count', 'seal', 'offsets'] as const)
      if (JSON.stringify(index[field]) !== JSON.stringify(right[field]))
        this.#add('INDEX', end, `Its field "${field}" should be ${JSON.stringify(right[field])}.`)
  }

  #checkRecords(frames: Frames): void {
    const bodies = new BodyReader(this.platform, frames, { path: '', bytes: this.source.size })
    const blocks =
      readIndex(this.platform, this.source, frames.frame(0).line.crc)?.index.blocks ?? []
    for (let seq = 0; seq < frames.count; seq++) {
      const isInBlock = blocks.length > 0 && seq > 0 && seq < frames.count - 1
      const block = isInBlock ? blocks.findLast(([from]) => from <= seq)?.[1] : undefined
      const read = <T>(code: FormatCode, offset: number, from: () => T): T | undefined => {
        try {
          return from()
        } catch (error) {
          if (!(error instanceof TapeError) && !(error instanceof RecordFault)) throw error
          this.#add(code, offset, error instanceof TapeError ? error.why : error.message, seq)
          return undefined
        }
      }
      const frame = read('BLOCK', block ?? 0, () => frames.frame(seq))
      // No record after it can be read.
      if (frame === undefined) return
      const offset = block ?? frame.offset
      const type = this.#checkText(frame, offset, seq, isInBlock)
      const event = read('EVENT', offset, () => frame.event())
      if (event?.type === 'run') this.#shift = event.parent === undefined ? 0 : event.parent.seq - 1
      const envelope = read('ENVELOPE', offset, () => frame.envelope())
      const body = envelope && read('BODY', offset, () => bodies.read(seq))
      if (event !== undefined) this.#checkEvent(event, body, offset, seq)
      if (envelope !== undefined) {
        for (const field of unknownFields('envelope', envelope))
          this.#add('UNKNOWN_FIELD', offset, `The envelope has an unknown field "${field}".`, seq)
        const seal = event?.type === 'seal' ? event : undefined
        this.#checkHashes(type, frame.eventBytes, envelope, body, { offset, seq, seal })
      } else {
        this.#isLinked = false
        this.#hasAllLinks = false
      }
    }
  }

  /** The type of the event, as its text says. */
  #checkText(frame: Frame, offset: number, seq: number, isInBlock: boolean): string {
    const add = (why: string): void => this.#add('TEXT', offset, why, seq)
    const text = frame.eventText
    const { type = '', rest = '' } = EVENT_HEAD.exec(text)?.groups ?? {}
    if (type === '') add('The event does not start with "seq", "at" and "type", in this order.')
    else if (type === 'run' && !rest.startsWith(',"format":'))
      add('The run record does not have "format" directly after "type".')
    const envelope = frame.envelopeText
    if (!ENVELOPE_TEXT.test(envelope)) add('The field "stored" is not the first of the envelope.')
    if (isInBlock && envelope.includes('"crc":')) add('An envelope in a block has no crc.')
    if (/\s/.test(`${text}${envelope}`.replaceAll(STRINGS, '')))
      add('The JSON has white space outside of texts.')
    const isUtf8 = attempt(() => {
      new TextDecoder('utf-8', { fatal: true }).decode(frame.eventBytes)
      return true
    })
    if (isUtf8 === undefined) add('The event is not UTF-8.')
    return type
  }

  #checkEvent(event: TapeEvent, body: Uint8Array | undefined, offset: number, seq: number): void {
    const add = (code: FormatCode, why: string): void => this.#add(code, offset, why, seq)
    for (const field of unknownFields('event', event))
      add('UNKNOWN_FIELD', `The event has an unknown field "${field}".`)
    const number = seq === 0 ? 0 : seq + this.#shift
    this.#types.set(number, event.type)
    const later = laterReference(event, number)
    const named = 'op' in event ? event.op : 'socket' in event ? event.socket : undefined
    const right = NAMED[event.type] ?? []
    if (later !== undefined) add('REFERENCE', later)
    else if (named !== undefined && (named === 0 || named > this.#shift)) {
      const found = this.#types.get(named) ?? 'unreadable'
      if (!right.includes(found))
        add('REFERENCE', `It names event ${named}, a ${found}, not a ${right.join(' or ')}.`)
    }
    if ('from' in event && event.from !== undefined && event.from > this.#shift)
      add('REFERENCE', `It comes from event ${event.from}, which is not one of a parent.`)
    if (this.#hasEnded && event.type !== 'seal' && event.type !== 'note')
      add('ORDER', 'The run has ended before.')
    this.#hasEnded ||= event.type === 'end'
    if (event.type === 'draw' && event.kind === 'guard') {
      const problem = intentProblem(event.value)
      if (problem !== undefined) add('GUARD', `The decision ${problem}.`)
    }
    if (event.type === 'result' && event.guard !== undefined) {
      const problem = factsProblem(event.guard)
      if (problem !== undefined) add('GUARD', `The facts of the guard: ${problem}.`)
    }
    if (body === undefined) return
    if (event.type === 'run') {
      const why = attempt(() => {
        const details = parseDetails(this.platform.text(body, 0, body.length))
        return unknownFields('details', details).map((name) => `An unknown field "${name}".`)
      }, ['It is not the details of a run.'])
      for (const each of why) add('DETAILS', each)
    }
    if (event.type === 'note' && event.kind === 'attachment') {
      const kinds = Object.entries(GUARD_NOTES) as [keyof typeof GUARD_NOTES, string][]
      const kind = kinds.find(([, name]) => name === event.name)?.[0]
      const content = attempt(() => JSON.parse(this.platform.text(body, 0, body.length)) as unknown)
      const problem = kind && guardNoteProblem(kind, content)
      if (problem !== undefined) add('GUARD', `The note ${problem}.`)
    }
    if ('as' in event && event.as !== undefined) {
      const form = event.as
      const isRight = attempt(() => {
        if (form === 'text') new TextDecoder('utf-8', { fatal: true }).decode(body)
        else decodeBody(form, body)
        return true
      })
      if (isRight === undefined) add('BODY_FORM', `The body cannot be read as ${form}.`)
    }
  }

  #checkHashes(
    type: string,
    text: Uint8Array,
    { sha, chain }: Envelope,
    body: Uint8Array | undefined,
    at: { readonly offset: number; readonly seq: number; readonly seal: SealEvent | undefined },
  ): void {
    const add = (code: FormatCode, why: string): void => this.#add(code, at.offset, why, at.seq)
    if (!isHeavy(type as TapeEvent['type'])) {
      if (chain !== undefined) add('CHAIN', `A ${type} is light and has no "chain".`)
      if (sha !== undefined) add('SHA', `A ${type} is light and has no "sha".`)
      if (body === undefined) this.#isLinked = false
      else this.#chain.addLight(text, body)
      return
    }
    if (at.seal !== undefined && this.#isLinked && this.#hasAllLinks) {
      const statement = {
        count: at.seq,
        chain: this.#chain.head,
        lights: this.#chain.lightsDigest(),
        root: this.#tree.root(),
      }
      if (at.seal.count !== at.seq) add('SEAL', `It counts ${at.seal.count} events, not ${at.seq}.`)
      if (at.seal.root !== statement.root)
        add('SEAL', `The Merkle root is ${statement.root}, not ${at.seal.root}.`)
      if (checkSignature(this.platform, at.seal, statement) === 'invalid')
        add('SEAL', 'The signature is not valid.')
    }
    const isShort = body === undefined || body.length <= SHORT_BODY_MAX_BYTES
    if (!isShort && sha === undefined) add('SHA', 'The body is long, and there is no "sha".')
    if (isShort && body !== undefined && sha !== undefined)
      add('SHA', 'The body is short, and there is a "sha".')
    if (chain === undefined) add('CHAIN', `A ${type} is heavy and needs "chain".`)
    let link: string | undefined
    if (body !== undefined) {
      const linked = isShort ? body : this.platform.sha256(body)
      link = this.#chain.addHeavy(text, body.length, linked)
      if (this.#isLinked && chain !== undefined && chain !== link)
        add('CHAIN', `The chain hash is ${link}, not ${chain}.`)
    }
    // What follows is checked against what the tape says, so that one problem is named once.
    const said = chain ?? link ?? ''
    if (said !== link) this.#chain = new Chain(this.platform, said)
    this.#isLinked = true
    this.#tree.add(said)
  }
}

const hex = (crc: number): string => crc.toString(16).padStart(8, '0')
