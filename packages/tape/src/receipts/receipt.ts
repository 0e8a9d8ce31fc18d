import { attempt } from '../format/values/attempt.js'
import { fromBase64, toBase64, utf8 } from '../format/values/bytes.js'
import {
  type ChainLink,
  type LinkedEvent,
  linkHash,
  SHORT_BODY_MAX_BYTES,
} from '../format/chain.js'
import { isHeavy, type SealEvent, type TapeEvent } from '../format/events.js'
import { type ProofLevel, provenIndex, provenRoot } from '../format/merkle.js'
import type { TapePlatform } from '../format/platform.js'
import {
  type SealStatement,
  sealMessage,
  signatureBytes,
  type SignatureCheck,
  type SignatureState,
} from '../format/seal.js'
import type { ApprovalFacts, GuardIntent } from '../guards/guard-facts.js'
import { type ApprovedNote, GUARD_NOTES } from '../guards/guard-note.js'
import { isRecord } from '../format/values/json-shape.js'

const VERSION = 'retake receipt 1'

/** An event of a receipt. A body is text if it is UTF-8; a hidden one has only `sha` and `size`. */
interface ReceiptEvent {
  readonly text: string
  readonly body?: string
  readonly base64?: string
  readonly sha?: string
  readonly size?: number
}

/** A heavy event with the light events of its link, and the proof that it is on the tape. */
export interface ReceiptLink {
  readonly from: string
  readonly lights: readonly ReceiptEvent[]
  readonly event: ReceiptEvent
  readonly proof: readonly ProofLevel[]
}

export interface ReceiptContent {
  readonly version: typeof VERSION
  readonly run: string
  /** The last record of the tape, and the two hashes that its signature covers besides its text. */
  readonly seal: { readonly text: string; readonly chain: string; readonly lights: string }
  /** Labels are only claimed by the issuer; everything else is proven. */
  readonly steps: readonly { readonly label: string; readonly event: number }[]
  /** In the order of the tape; the first one is the run record. */
  readonly links: readonly ReceiptLink[]
}

interface Receipt extends ReceiptContent {
  readonly issuer: { readonly key: string; readonly signature: string }
}

const receiptMessage = (content: ReceiptContent): Uint8Array =>
  new TextEncoder().encode(`${VERSION}\n${JSON.stringify(content)}`)

/** A receipt as a file. Each receipt has exactly one text, so that every change is noticed. */
const receiptText = (receipt: Receipt): string => `${JSON.stringify(receipt, null, 1)}\n`

/** Signs the content of a receipt; returns the text of its file. */
export function issueReceipt(
  content: Omit<ReceiptContent, 'version'>,
  sign: (message: Uint8Array) => { readonly key: string; readonly signature: string },
): string {
  const whole: ReceiptContent = { version: VERSION, ...content }
  return receiptText({ ...whole, issuer: sign(receiptMessage(whole)) })
}

export interface ProvenCall {
  /** Number of the event in the run. */
  readonly seq: number
  /** Label of the step, as claimed by the issuer. */
  readonly label?: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly event: TapeEvent
  /** Missing if the receipt hides it. */
  readonly body?: Uint8Array
  readonly decision?: GuardIntent
  readonly approval?: ApprovalFacts
  /** The answer, or its beginning. */
  readonly answer?: { readonly event: TapeEvent; readonly body?: Uint8Array }
}

export interface CheckedReceipt {
  readonly ok: boolean
  readonly problem?: string
  readonly run?: { readonly id: string; readonly name: string; readonly startedAt: number }
  /** Digest of the tape; missing if the receipt does not determine it. */
  readonly digest?: string
  /** Number of events of the tape before its seal, and of those that the receipt shows. */
  readonly count?: number
  readonly shown?: number
  readonly seal?: { readonly state: SignatureState; readonly key?: string }
  readonly issuer?: { readonly state: SignatureState; readonly key: string }
  readonly calls: readonly ProvenCall[]
}

/** Thrown and caught in this file: the receipt contradicts its tape or its issuer. */
class ReceiptProblem extends Error {}

const requireThat: (condition: boolean, problem: string) => asserts condition = (
  condition,
  problem,
) => {
  if (!condition) throw new ReceiptProblem(problem)
}

/**
 * Checks a receipt without its tape. A valid one proves that the disclosed events are on the sealed
 * tape, unchanged and at these numbers, and which keys signed. It does not prove who owns a key,
 * that the events describe what happened outside, or anything about hidden events.
 */
export async function checkReceipt(
  platform: TapePlatform,
  text: string,
  check: SignatureCheck,
): Promise<CheckedReceipt> {
  let facts: Partial<CheckedReceipt> = {}
  try {
    const receipt = parseReceipt(text)
    const { issuer, ...content } = receipt
    const state = await signatureState(check, receiptMessage(content), issuer)
    facts = { issuer: { state, key: issuer.key } }
    requireThat(state !== 'invalid', 'the signature of its issuer does not match: it was changed')
    const { seal, digest } = await checkSeal(platform, content.seal, check)
    facts = { ...facts, ...(digest !== undefined && { digest }), count: seal.event.count, seal }
    requireThat(seal.state !== 'invalid', 'the signature of the seal does not fit')
    const events = content.links.flatMap((link) => provenEvents(platform, link, seal.event))
    const run = events[0]?.event
    requireThat(run?.type === 'run', 'it does not start with the run record')
    const { id, name, startedAt, parent } = run
    requireThat(id === content.run, 'its run is not the one of its tape')
    const calls = callsOf(events, parent ? parent.seq - 1 : 0, startedAt, content.steps)
    return {
      ok: true,
      ...facts,
      run: { id, name, startedAt },
      shown: events.length,
      calls,
      seal: { state: seal.state, ...(seal.event.key !== undefined && { key: seal.event.key }) },
    }
  } catch (error) {
    if (!(error instanceof ReceiptProblem)) throw error
    return { ok: false, ...facts, problem: error.message, calls: [] }
  }
}

async function signatureState(
  check: SignatureCheck,
  message: Uint8Array,
  signed: { readonly key: string; readonly signature: string },
): Promise<SignatureState> {
  const bytes = signatureBytes(signed.key, signed.signature)
  if (bytes === undefined) return 'invalid'
  // Different base64 texts can decode to the same bytes.
  if (toBase64(bytes.key) !== signed.key || toBase64(bytes.signature) !== signed.signature)
    return 'invalid'
  const isValid = await check(message, bytes.signature, bytes.key)
  return isValid === undefined ? 'unchecked' : isValid ? 'valid' : 'invalid'
}

async function checkSeal(
  platform: TapePlatform,
  { text, chain, lights }: ReceiptContent['seal'],
  check: SignatureCheck,
): Promise<{
  readonly seal: { readonly event: SealEvent; readonly state: SignatureState }
  readonly digest?: string
}> {
  const event = parseEvent(text)
  requireThat(event.type === 'seal' && event.seq === event.count, 'its last record is not a seal')
  const { count, root, key, signature } = event
  const statement: SealStatement = { count, chain, lights, root }
  const isSigned = key !== undefined || signature !== undefined
  const state = isSigned
    ? await signatureState(check, sealMessage(statement), {
        key: key ?? '',
        signature: signature ?? '',
      })
    : 'none'
  const seal = { event, state }
  if (lights !== '') return { seal }
  const linked = { text: encoder.encode(text), size: 0, body: '' }
  return { seal, digest: linkHash(platform, { from: chain, lights: [], event: linked }) }
}

interface ProvenEvent {
  readonly event: TapeEvent
  readonly body?: Uint8Array
  /** Events of the same link, in order. */
  readonly link: readonly ProvenEvent[]
}

/** The events of a link, after verifying that it is on the tape. */
function provenEvents(
  platform: TapePlatform,
  { from, lights, event, proof }: ReceiptLink,
  seal: SealEvent,
): ProvenEvent[] {
  const link: ChainLink = {
    from,
    lights: lights.map((light) => linkedEvent(platform, light, false)),
    event: linkedEvent(platform, event, true),
  }
  const last = parseEvent(event.text)
  requireThat(isHeavy(last.type), 'a link does not end with a heavy event')
  requireThat((from === '') === (last.type === 'run'), 'a link does not start where it has to')
  const isIncluded = provenRoot(platform, linkHash(platform, link), proof) === seal.root
  requireThat(isIncluded, `event ${last.seq} is not on the tape that was sealed`)
  requireThat((provenIndex(proof) === 0) === (last.type === 'run'), 'the run record is not first')
  const events = [...lights, event].map((each, index) => {
    const parsed = parseEvent(each.text)
    const isExpected = parsed.seq === last.seq - lights.length + index
    requireThat(isExpected, `event ${parsed.seq} is not at its position`)
    return { event: parsed, ...(each.sha === undefined && { body: bodyOf(each) }) }
  })
  requireThat(last.seq < seal.count, `event ${last.seq} comes after the seal`)
  return events.map((each) => ({ ...each, link: events as ProvenEvent[] }))
}

function linkedEvent(
  platform: TapePlatform,
  event: ReceiptEvent,
  isLinkedBySha: boolean,
): LinkedEvent {
  const text = encoder.encode(event.text)
  if (event.sha !== undefined) {
    const { sha, size = 0 } = event
    requireThat(isLinkedBySha && size > SHORT_BODY_MAX_BYTES, 'a body is hidden that cannot be')
    return { text, size, body: sha }
  }
  const body = bodyOf(event)
  const isLong = isLinkedBySha && body.length > SHORT_BODY_MAX_BYTES
  return { text, size: body.length, body: isLong ? platform.sha256(body) : body }
}

const encoder = new TextEncoder()

const bodyOf = ({ body = '', base64 }: ReceiptEvent): Uint8Array =>
  base64 === undefined ? encoder.encode(body) : fromBase64(base64)

function parseEvent(text: string): TapeEvent {
  requireThat(/^\{"seq":\d+,"at":[\d.]+,"type":"/.test(text), 'an event is not one of a tape')
  try {
    return JSON.parse(text) as TapeEvent
  } catch {
    throw new ReceiptProblem('an event is not JSON')
  }
}

function callsOf(
  events: readonly ProvenEvent[],
  shift: number,
  startedAt: number,
  steps: ReceiptContent['steps'],
): ProvenCall[] {
  for (const [index, { event }] of events.entries())
    requireThat(
      index === 0 || event.seq > (events[index - 1]?.event.seq ?? 0),
      'its events are not in the order of the tape',
    )
  const approvals = new Map<number, ApprovalFacts | undefined>()
  const answers = new Map<number, ProvenEvent>()
  for (const each of events) {
    const { event, body } = each
    if (event.type === 'result' || event.type === 'response') answers.set(event.op, each)
    if (event.type !== 'note' || event.name !== GUARD_NOTES.approved || body === undefined) continue
    const note = JSON.parse(utf8(body) ?? '{}') as ApprovedNote
    approvals.set(note.op, note.approval)
  }
  const calls = events
    .filter(({ event }) => event.type === 'call' || event.type === 'request')
    .map(({ event, body, link }): ProvenCall => {
      const seq = event.seq + shift
      const label = steps.find((step) => step.event === seq)?.label
      const decision = link.findLast(
        (each) => each.event.type === 'draw' && each.event.kind === 'guard',
      )
      const answer = answers.get(seq)
      const facts =
        answer?.event.type === 'result'
          ? (answer.event.guard as { readonly approval?: ApprovalFacts } | undefined)
          : undefined
      const approval = approvals.get(seq) ?? facts?.approval
      return {
        seq,
        ...(label !== undefined && { label }),
        startedAt: startedAt + event.at,
        event,
        ...(body && { body }),
        ...(decision && {
          decision: (decision.event as { readonly value?: unknown }).value as GuardIntent,
        }),
        ...(approval && { approval }),
        ...(answer && {
          answer: { event: answer.event, ...(answer.body && { body: answer.body }) },
        }),
      }
    })
  for (const { event } of steps)
    requireThat(
      calls.some(({ seq }) => seq === event),
      `it names event ${event} as a step, and does not show it`,
    )
  return calls
}

// ── The file ────────────────────────────────────────────────────────────────

/** Checks one value of the file; fields that are not listed are refused. */
type Shape = (value: unknown) => boolean
const isText: Shape = (value) => typeof value === 'string'
const isHash: Shape = (value) => typeof value === 'string' && /^[\da-f]{64}$/.test(value)
const isHashOrEmpty: Shape = (value) => value === '' || isHash(value)
const isNumber: Shape = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isBase64: Shape = (value) =>
  typeof value === 'string' && attempt(() => toBase64(fromBase64(value))) === value && value !== ''
const listOf =
  (shape: Shape): Shape =>
  (value) =>
    Array.isArray(value) && value.every(shape)
const objectOf =
  (
    fields: Readonly<Record<string, Shape>>,
    optional: Readonly<Record<string, Shape>> = {},
  ): Shape =>
  (value) =>
    isRecord(value) &&
    Object.keys(fields).every((key) => key in value) &&
    Object.entries(value).every(([key, each]) => (fields[key] ?? optional[key])?.(each) === true)

const eventShape = objectOf(
  { text: isText },
  { body: isText, base64: isBase64, sha: isHash, size: isNumber },
)
const RECEIPT = objectOf({
  version: (value) => value === VERSION,
  run: isText,
  seal: objectOf({ text: isText, chain: isHash, lights: isHashOrEmpty }),
  steps: listOf(objectOf({ label: isText, event: isNumber })),
  links: listOf(
    objectOf({
      from: isHashOrEmpty,
      lights: listOf(eventShape),
      event: eventShape,
      proof: listOf(objectOf({ at: isNumber, beside: listOf(isHash) })),
    }),
  ),
  issuer: objectOf({ key: isBase64, signature: isBase64 }),
})

function parseReceipt(text: string): Receipt {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ReceiptProblem('it is not a receipt: not JSON')
  }
  const version = isRecord(value) ? value['version'] : undefined
  requireThat(
    typeof version === 'string' && version.startsWith('retake receipt '),
    'it is not a receipt of Retake',
  )
  requireThat(version === VERSION, `it is a "${version}", which this version does not know`)
  requireThat(RECEIPT(value), 'it does not have the form of a receipt')
  const receipt = value as Receipt
  requireThat(
    receiptText(receipt) === text,
    'its text is not as it was issued: it was changed, or formatted by another program',
  )
  return receipt
}

export function receiptEvent(
  platform: TapePlatform,
  text: Uint8Array,
  body: Uint8Array,
  { isHidden = false } = {},
): ReceiptEvent {
  const event = { text: platform.text(text, 0, text.length) }
  if (body.length === 0) return event
  if (isHidden && body.length > SHORT_BODY_MAX_BYTES)
    return { ...event, sha: platform.sha256(body), size: body.length }
  const plain = utf8(body)
  return plain === undefined ? { ...event, base64: toBase64(body) } : { ...event, body: plain }
}
