import { Chain, chainLink, type LinkedEvent } from '../format/chain.js'
import { utf8 } from '../format/values/bytes.js'
import { isGuardDraw, type TapeEvent } from '../format/events.js'
import { merkleProof } from '../format/merkle.js'
import type { TapePlatform } from '../format/platform.js'
import type { Tape } from '../format/tape.js'
import { type ApprovedNote, GUARD_NOTES } from '../guards/guard-note.js'
import { type ReceiptContent, receiptEvent, type ReceiptLink } from './receipt.js'

/** A step that a receipt discloses: the event that starts it, and the events of its answer. */
export interface DisclosedStep {
  readonly label: string
  readonly seq: number
  readonly answerSeqs: readonly number[]
}

export interface ReceiptDraft {
  readonly content: Omit<ReceiptContent, 'version'>
  /** Events that must be disclosed too, because they share a link with the requested ones. */
  readonly neighbors: readonly TapeEvent[]
}

/**
 * Discloses steps of a sealed tape: their calls, the decisions and approvals
 * of guards about them, and their answers. Steps of a parent are on the parent's tape. The run
 * details stay hidden if they are longer than 511 bytes; with `hidesBodies`, so do all bodies of
 * that length.
 */
export function draftReceipt(
  platform: TapePlatform,
  tape: Tape,
  steps: readonly DisclosedStep[],
  { hidesBodies = false } = {},
): ReceiptDraft {
  const shift = Math.max(0, tape.ownFrom - 1)
  const wanted = new Set([0])
  for (const { seq, answerSeqs } of steps)
    for (const each of [seq, ...answerSeqs]) wanted.add(each - shift)
  const calls = new Set(steps.map(({ seq }) => seq))
  const leaves: string[] = []
  const links: { readonly link: Omit<ReceiptLink, 'proof'>; readonly index: number }[] = []
  const neighbors: TapeEvent[] = []
  const count = tape.ownCount - 1
  let lights: number[] = []
  let head = ''
  for (let position = 0; position < count; position++) {
    const { envelope } = tape.ownRecord(position)
    if (envelope.chain === undefined) {
      lights.push(position)
      continue
    }
    const event = tape.event(position === 0 ? 0 : position + shift)
    if (isApprovalOf(tape, event, calls)) wanted.add(position)
    if ([...lights, position].some((each) => wanted.has(each))) {
      const read = lights.map((each) => tape.ownRecord(each))
      const open = chainLink(platform, head, read.map(linked), linked(tape.ownRecord(position)))
      const shown = read.length - open.lights.length
      for (const each of lights.slice(shown)) {
        const light = tape.event(each + shift)
        if (!wanted.has(each) && !isGuardDraw(light)) neighbors.push(light)
      }
      if (!wanted.has(position)) neighbors.push(event)
      const own = tape.ownRecord(position)
      links.push({
        index: leaves.length,
        link: {
          from: open.from,
          lights: read.slice(shown).map(({ text, body }) => receiptEvent(platform, text, body)),
          event: receiptEvent(platform, own.text, own.body, {
            isHidden: hidesBodies || position === 0,
          }),
        },
      })
    }
    leaves.push(envelope.chain)
    head = envelope.chain
    lights = []
  }
  const { text } = tape.ownRecord(count)
  const chain = new Chain(platform, head)
  for (const each of lights) {
    const record = tape.ownRecord(each)
    chain.addLight(record.text, record.body)
  }
  return {
    content: {
      run: tape.run.id,
      seal: {
        text: platform.text(text, 0, text.length),
        chain: head,
        lights: chain.lightsDigest(),
      },
      steps: steps.map(({ label, seq }) => ({ label, event: seq })),
      links: links.map(({ link, index }) => ({
        ...link,
        proof: merkleProof(platform, leaves, index),
      })),
    },
    neighbors,
  }
}

const linked = ({ text, body }: Pick<LinkedEvent, 'text'> & { body: Uint8Array }): LinkedEvent => ({
  text,
  size: body.length,
  body,
})

function isApprovalOf(tape: Tape, event: TapeEvent, calls: ReadonlySet<number>): boolean {
  if (event.type !== 'note' || event.name !== GUARD_NOTES.approved) return false
  const { op } = JSON.parse(utf8(tape.body(event.seq)) ?? '{}') as Partial<ApprovedNote>
  return op !== undefined && calls.has(op)
}
