import { pushTo, type Random, seededRandom, type Tape } from '@retake/tape/format'
import { isAddedHeader, type Mismatch } from './compare.js'
import { TapeTimeline } from './timeline.js'

/**
 * Recognises texts in a request that come from random values or clocks, so that two requests can
 * be compared without them. Recognises only the usual forms of a value: anything else that a
 * program computes from it counts as a difference.
 */
export class DrawnValues {
  readonly #texts = new Set<string>()
  /** Lengths of the recognised texts, longest first. */
  #lengths: readonly number[] = []
  /**
   * Digits of `Math.random().toString(36)`, keyed by their beginning, because programs truncate
   * them to various lengths.
   */
  readonly #base36 = new Map<string, string[]>()

  add(kind: string, value: unknown): void {
    for (const text of formsOf(kind, value)) {
      if (text.length < SHORTEST_TEXT) continue
      this.#texts.add(text)
      if (!this.#lengths.includes(text.length))
        this.#lengths = [...this.#lengths, text.length].toSorted((a, b) => b - a)
    }
    if (kind !== 'Math.random' || typeof value !== 'number') return
    const digits = value.toString(36).slice(2)
    const key = digits.slice(0, SHORTEST_CUT)
    if (this.#base36.get(key)?.includes(digits) !== true) pushTo(this.#base36, key, digits)
  }

  /** The text of a body with a marker for each drawn value. */
  without(body: Uint8Array): string {
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
    return text.replaceAll(WORD, (word) => (this.#isDrawn(word) ? MARK : this.#withoutParts(word)))
  }

  differsOnlyInDrawn(recorded: unknown, current: unknown): boolean {
    if (typeof recorded !== 'string' || typeof current !== 'string') return false
    return this.without(Buffer.from(recorded)) === this.without(Buffer.from(current))
  }

  /** Replaces drawn values that were concatenated: `0.72` and `1763` as `0.721763`. */
  #withoutParts(word: string): string {
    if (word.length <= SHORTEST_TEXT) return word
    let plain = ''
    for (let at = 0; at < word.length;) {
      const length = this.#lengths.find((each) => this.#texts.has(word.slice(at, at + each)))
      plain += length === undefined ? word.charAt(at) : MARK
      at += length ?? 1
    }
    return plain
  }

  #isDrawn(word: string): boolean {
    if (this.#texts.has(word)) return true
    if (!/^[0-9a-z]{5,}$/.test(word)) return false
    const alike = this.#base36.get(word.slice(0, SHORTEST_CUT)) ?? []
    return alike.some((digits) => digits.startsWith(word))
  }
}

const MARK = '\u0000'
/** Shorter texts are too likely to be other numbers. */
const SHORTEST_TEXT = 8
/** Fewer digits are too likely to be part of a word. */
const SHORTEST_CUT = 5

/** Runs of characters found in ids, numbers and dates; a prefix such as `req_` is not part of them. */
const WORD =
  /\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+\.\d+(?:e-?\d+)?|[0-9A-Za-z]{5,}/g

function formsOf(kind: string, value: unknown): string[] {
  const [source = kind] = kind.split(' ')
  if (source === 'Date.now' && typeof value === 'number')
    return [value, Math.floor(value / 1000), new Date(value).toISOString(), value.toString(36)].map(
      String,
    )
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'string') return []
  if (source === 'crypto.randomUUID') return [value, value.replaceAll('-', '')]
  if (!source.startsWith('crypto.')) return [value]
  const raw = Buffer.from(value, 'base64')
  return [value, raw.toString('hex'), raw.toString('base64url')]
}

/**
 * A value that the recording does not have: clocks stop, random numbers follow from the seed, and
 * facts about the machine stay the same. Only kinds that the recording never drew come from this
 * machine.
 */
function standInFor(
  kind: string,
  from: {
    readonly last: unknown
    readonly random: () => number
    readonly native: () => unknown
  },
): unknown {
  const { last, random, native } = from
  const [source = kind, size] = kind.split(' ')
  if (source === 'Math.random') return random()
  if (source === 'crypto.randomUUID') return uuid(random)
  if (source === 'FormData') {
    const digits = Array.from({ length: 11 }, () => Math.floor(random() * 10))
    return `----formdata-undici-0${digits.join('')}`
  }
  if (source.startsWith('crypto.') && size !== undefined)
    return bytes(random, Number(size)).toString('base64')
  return last ?? native()
}

const bytes = (random: () => number, size: number): Buffer =>
  Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)))

function uuid(random: () => number): string {
  const raw = bytes(random, 16)
  raw[6] = ((raw[6] ?? 0) & 0x0f) | 0x40
  raw[8] = ((raw[8] ?? 0) & 0x3f) | 0x80
  return raw.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Makes the value of a draw that the recording does not have. */
export type NewDraw = (
  kind: string,
  from: { readonly last: unknown; readonly turn: number; readonly native: () => unknown },
) => unknown

/** New draws that follow from a seed, so that the same order of deliveries draws the same values. */
export function seededNewDraw(seed: number): NewDraw {
  let made = 0
  return (kind, { last, turn, native }) => {
    made += 1
    return standInFor(kind, { last, random: seededDraws(`${seed} ${turn} ${made}`), native })
  }
}

type Queues = Map<string, unknown[]>

/**
 * The values drawn in a recording, by turn: the time between one delivery and the next. If
 * deliveries come in another order, each lane still gets its own ids and times. A turn that draws
 * more than recorded continues with values that other turns left over, the latest turn first,
 * because the code after a join runs in the turn of the lane that comes last.
 */
export class TurnDraws {
  readonly #byTurn = new Map<number, Queues>()
  /** By kind, completed turns that left recorded values over, in recorded order. */
  readonly #leftOver = new Map<string, number[]>()
  readonly #last = new Map<string, unknown>()
  #turn: number

  constructor(
    recorded: Pick<TapeTimeline, 'draws' | 'firstTurn'>,
    readonly newDraw: NewDraw,
  ) {
    this.#turn = recorded.firstTurn
    for (const { turn, kind, value } of recorded.draws) this.add(turn, kind, value)
  }

  add(turn: number, kind: string, value: unknown): void {
    const queues = this.#byTurn.get(turn) ?? new Map<string, unknown[]>()
    this.#byTurn.set(turn, queues)
    pushTo(queues, kind, value)
    if (!this.#last.has(kind)) this.#last.set(kind, value)
  }

  /** Begins the turn that this delivery began in the recording. */
  begin(turn: number): void {
    for (const [kind, queue] of this.#byTurn.get(this.#turn) ?? []) {
      if (queue.length === 0) continue
      const turns = this.#leftOver.get(kind) ?? []
      if (turns.includes(this.#turn)) continue
      turns.push(this.#turn)
      this.#leftOver.set(
        kind,
        turns.toSorted((a, b) => a - b),
      )
    }
    this.#turn = turn
  }

  take(kind: string, native: () => unknown): unknown {
    const own = this.#byTurn.get(this.#turn)?.get(kind)
    const value =
      own !== undefined && own.length > 0 ? own.shift() : this.#takeLeftOver(kind, native)
    this.#last.set(kind, value)
    return value
  }

  #takeLeftOver(kind: string, native: () => unknown): unknown {
    const turns = this.#leftOver.get(kind) ?? []
    while (turns.length > 0) {
      const queue = this.#byTurn.get(turns.at(-1) as number)?.get(kind)
      if (queue !== undefined && queue.length > 0) return queue.shift()
      turns.pop()
    }
    return this.newDraw(kind, { last: this.#last.get(kind), turn: this.#turn, native })
  }
}

/** For choosing orders and replacing values, not for secrets. */
export const seededDraws = (seed: string): Random => seededRandom(hash(seed))

/** FNV-1a with a final mix, so that similar seeds do not give similar numbers. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  return (value ^ (value >>> 13)) | 0
}

/**
 * The draws of a replay that compares only requests: the program may draw more, fewer or other
 * values than the recorded run. Each turn gets its recorded values; further values follow from a
 * seed, so that every replay is the same.
 */
export class TolerantDraws {
  readonly #draws: TurnDraws
  readonly #drawn = new DrawnValues()

  constructor(tape: Tape) {
    const recorded = new TapeTimeline(tape, 1)
    this.#draws = new TurnDraws(recorded, seededNewDraw(0))
    for (const { kind, value } of recorded.draws) this.#drawn.add(kind, value)
  }

  take<T>(kind: string, native: () => T): T {
    const value = this.#draws.take(kind, native)
    this.#drawn.add(kind, value)
    return value as T
  }

  begin(turn: number): void {
    this.#draws.begin(turn)
  }

  /** True if two bodies differ only in drawn values. */
  isSame(recorded: Uint8Array, current: Uint8Array): boolean {
    return this.#drawn.without(recorded) === this.#drawn.without(current)
  }

  /** True if the only difference is a drawn value, or a header of a different SDK version. */
  isTolerable(mismatch: Mismatch): boolean {
    const { recorded, current } = mismatch
    return isAddedHeader(mismatch) || this.#drawn.differsOnlyInDrawn(recorded, current)
  }
}
