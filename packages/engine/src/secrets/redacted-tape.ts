import { createHash } from 'node:crypto'
import {
  type NewEvent,
  REDACTION_NOTE,
  type RunDetails,
  type Tape,
  type TapeEvent,
} from '@retake/tape/format'
import { errors } from '../errors.js'
import type { MaskNote } from '../kernel/mask.js'
import { outsideRuns } from '../kernel/scope.js'
import { SecretMask } from './secrets.js'
import { CONTENT, FUNCTION, type HiddenValue, Redactor, seal, unseal } from './redactor.js'
import { VaultKey } from './vault-key.js'

/**
 * Notes on the tape of a redacted run. Two are sealed, and written together with the event that
 * needs them: `values` lists values and their pseudonyms as they are found; `original` is the body
 * of the next event, if it cannot be restored from pseudonyms alone. `readable` is not sealed:
 * pieces of a stream that became readable when it ended.
 */
export const redactionNote = (
  text: 'values' | 'original' | 'readable',
  body: Uint8Array,
): MaskNote => ({
  note: { type: 'note', kind: 'attachment', name: REDACTION_NOTE, text },
  body,
})

/** The values found since the last call. */
export function sealedValues(redactor: Redactor): MaskNote[] {
  const values = redactor.takeUnwritten()
  if (values.length === 0) return []
  return [redactionNote('values', seal(redactor.key, Buffer.from(JSON.stringify(values))))]
}

/** The original of a body, if it cannot be restored by putting the values back. */
export function sealedNotes(
  redactor: Redactor,
  event: NewEvent,
  { original, masked }: { readonly original: Uint8Array; readonly masked: Uint8Array },
): MaskNote[] {
  if (Buffer.compare(original, masked) === 0) return []
  const revealed = revealerOf(redactor).part(event, masked)
  return Buffer.compare(original, revealed) === 0
    ? []
    : [redactionNote('original', seal(redactor.key, original))]
}

/** Puts values back in place of pseudonyms. */
function revealing(values: Iterable<HiddenValue>): SecretMask {
  const mask = new SecretMask()
  for (const [value, pseudonym] of values) mask.hideWordAs(pseudonym, value)
  return mask
}

const revealers = new WeakMap<Redactor, { readonly mask: SecretMask; size: number }>()

function revealerOf(redactor: Redactor): SecretMask {
  const revealer = revealers.get(redactor) ?? { mask: revealing([]), size: 0 }
  revealers.set(redactor, revealer)
  if (revealer.size < redactor.known.size)
    for (const [value, pseudonym] of [...redactor.known].slice(revealer.size))
      revealer.mask.hideWordAs(pseudonym, value)
  revealer.size = redactor.known.size
  return revealer.mask
}

export const redactionDetails = (redactor: Redactor): NonNullable<RunDetails['redaction']> => ({
  key: redactor.key.id,
  kinds: redactor.kinds,
  rules: seal(redactor.key, Buffer.from(JSON.stringify(redactor.storedRules))).toString('base64'),
})

/** The personal data of a redacted run, for those who have the key. */
export class Redaction {
  /** Values by the note that contains them. */
  readonly #values: { readonly seq: number; readonly values: readonly HiddenValue[] }[] = []
  /** Notes with originals, by the event to which they belong. */
  readonly #originals = new Map<number, number>()
  #mask = revealing([])
  /** The mask includes the values up to this note. */
  #until = 0

  constructor(
    readonly tape: Tape,
    readonly key: VaultKey,
  ) {
    for (const event of tape.events(1)) {
      if (event.type !== 'note' || event.name !== REDACTION_NOTE) continue
      if (event.text === 'original') this.#originals.set(event.seq + 1, event.seq)
      else if (event.text === 'values') {
        const values = JSON.parse(this.#open(event.seq).toString()) as HiddenValue[]
        this.#values.push({ seq: event.seq, values })
      }
    }
  }

  #open(seq: number): Buffer {
    try {
      return unseal(this.key, this.tape.body(seq))
    } catch {
      throw errors.REDACTION_UNREADABLE(this.tape.run.id, seq)
    }
  }

  /** Uses only values known at that event, because a later pseudonym may be an ordinary word before it. */
  #maskAt(seq: number): SecretMask {
    const later = seq === 0 ? -1 : this.#values.findIndex((each) => each.seq >= seq)
    const until = later < 0 ? this.#values.length : later
    if (until < this.#until) [this.#mask, this.#until] = [revealing([]), 0]
    for (; this.#until < until; this.#until++)
      for (const [value, pseudonym] of this.#values[this.#until]?.values ?? [])
        this.#mask.hideWordAs(pseudonym, value)
    return this.#mask
  }

  /** A part of the tape with all hidden values put back. */
  reveal<T>(part: T): T {
    return this.#json(part, this.#maskAt(0))
  }

  event(seq: number): TapeEvent {
    const event = this.tape.event(seq)
    return event.type === 'note' || event.type === 'run' || event.type === 'seal'
      ? event
      : this.#json(event, this.#maskAt(seq))
  }

  body(seq: number): Uint8Array {
    const original = this.#originals.get(seq)
    if (original !== undefined) return this.#open(original)
    const event = this.tape.event(seq)
    const body = this.tape.storedBody(seq)
    return body.length === 0 || event.type === 'run' || event.type === 'seal'
      ? body
      : this.#maskAt(seq).part(event, body)
  }

  /** A redactor that continues to hide the same values. Throws `REDACTION_NOT_RESTORABLE`. */
  redactor(): Redactor {
    const { run, details } = this.tape
    const sealed = Buffer.from(details.redaction?.rules ?? '', 'base64')
    const rules = JSON.parse(unseal(this.key, sealed).toString()) as string[]
    if (rules.includes(FUNCTION))
      throw errors.REDACTION_NOT_RESTORABLE(
        run.id,
        'One of its rules is a function of the program that recorded it.',
        'Put the function into a separate file and refer to it in the rules: module:./redact.mjs.',
      )
    const redactor = new Redactor(rules, this.key)
    for (const { values } of this.#values) redactor.addKnown(values)
    return redactor
  }

  #json<T>(value: T, mask: SecretMask): T {
    const json = JSON.stringify(value)
    const revealed = mask.text(json)
    return revealed === json ? value : (JSON.parse(revealed) as T)
  }
}

const REDACTION = Symbol('retake.redaction')

/**
 * The tape of a redacted run with its personal data, if this user has the key; otherwise, and for
 * every other run, the tape itself. Throws `VAULT_KEY_WRONG` for an explicitly given key that does
 * not fit.
 */
export function revealedTape(tape: Tape): Tape {
  const { redaction: redacted } = tape.details
  if (redacted === undefined) return tape
  const key = outsideRuns(() => VaultKey.own())
  if (key === undefined) return tape
  if (key.id !== redacted.key) {
    if (key.isGiven) throw errors.VAULT_KEY_WRONG(tape.path, redacted.key, key.id)
    return tape
  }
  const redaction = new Redaction(tape, key)
  return changedTape(tape, {
    details: redaction.reveal(tape.details),
    event: (seq) => redaction.event(seq),
    *events(from = 0, to = tape.count) {
      for (let seq = Math.max(0, from); seq < Math.min(to, tape.count); seq++)
        yield redaction.event(seq)
    },
    body: (seq) => redaction.body(seq),
    bodySha: (seq) => {
      const body = redaction.body(seq)
      return body.length === 0 ? undefined : createHash('sha256').update(body).digest('hex')
    },
    [REDACTION]: redaction,
  })
}

/** Set for a tape returned by `revealedTape`. */
export const redactionOf = (tape: Tape): Redaction | undefined =>
  (tape as { readonly [REDACTION]?: Redaction })[REDACTION]

/** True if the program gets pseudonyms, so that a replay can only compare the structure. */
export const isStructural = (tape: Tape): boolean =>
  tape.details.pseudonymKey !== undefined ||
  (tape.details.redaction !== undefined && redactionOf(tape) === undefined)

/** True if all output is blanked, so that there is nothing to compare. */
export const hidesOutput = (tape: Tape): boolean =>
  isStructural(tape) && tape.details.redaction?.kinds.includes(CONTENT) === true

type TapeChanges = Partial<Pick<Tape, 'details' | 'event' | 'events' | 'body' | 'bodySha'>> & {
  readonly [REDACTION]?: Redaction
}

/** A tape with some members replaced. */
export function changedTape(tape: Tape, changes: TapeChanges): Tape {
  const members = new Map<string | symbol, unknown>(
    Reflect.ownKeys(changes).map((key) => [key, Reflect.get(changes, key)]),
  )
  return new Proxy(tape, {
    get: (target, key) => {
      if (members.has(key)) return members.get(key)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
