import { defined } from './values/json-shape.js'
import { Chain, SHORT_BODY_MAX_BYTES } from './chain.js'
import { bodySize } from './codec.js'
import { laterReference } from './check-records.js'
import type { TapePlatform } from './platform.js'
import { TapeError } from './errors.js'
import { isHeavy, type SealEvent } from './events.js'
import type { Frames } from './frames.js'
import { MerkleTree } from './merkle.js'
import { checkSignature, type SealStatement, type SignatureState } from './seal.js'

export interface VerifyResult {
  readonly ok: boolean
  readonly count: number
  /** Computed from the checked records; equal to `Tape.digest` if the tape is intact. */
  readonly digest: string
  readonly signature: SignatureState
  readonly key?: string
  /** The first event that differs from what was recorded. */
  readonly problem?: { readonly seq: number; readonly message: string }
}

interface Checked {
  readonly count: number
  /** From a position on the tape to the number of that event in the run, by which others name it. */
  readonly shift: number
  body(seq: number): Uint8Array
}

export function verifyTape(platform: TapePlatform, frames: Frames, tape: Checked): VerifyResult {
  const chain = new Chain(platform)
  const tree = new MerkleTree(platform)
  let signature: SignatureState = 'none'
  let key: string | undefined
  let seq = 0
  const bad = (message: string): VerifyResult => ({
    ok: false,
    count: tape.count,
    digest: chain.digest(),
    signature,
    ...defined({ key }),
    problem: { seq, message },
  })
  for (; seq < tape.count; seq++) {
    try {
      const frame = frames.frame(seq)
      const event = frame.event()
      const { eventBytes } = frame
      const envelope = frame.envelope()
      const body = tape.body(seq)
      const later = laterReference(event, seq + tape.shift)
      if (later !== undefined) return bad(later.replace(/\.$/, ''))
      if (body.length !== bodySize(envelope))
        return bad('its body has another length than recorded')
      if (!isHeavy(event.type)) {
        chain.addLight(eventBytes, body)
        continue
      }
      if (event.type === 'seal') {
        const statement: SealStatement = {
          count: seq,
          chain: chain.head,
          lights: chain.lightsDigest(),
          root: tree.root(),
        }
        const found = sealProblem(event, statement, tape.count)
        if (found !== undefined) return bad(found)
        signature = checkSignature(platform, event, statement)
        key = event.key
        if (signature === 'invalid') return bad('the signature of the seal is not valid')
      }
      const isShort = body.length <= SHORT_BODY_MAX_BYTES
      if (!isShort && envelope.sha === undefined) return bad('it has no sha256')
      const linked = isShort ? body : (envelope.sha ?? '')
      if (chain.addHeavy(eventBytes, body.length, linked) !== envelope.chain) {
        return bad(
          'it does not follow from the events before it: one was changed, added, moved or removed',
        )
      }
      tree.add(chain.head)
    } catch (error) {
      // A forged record may cause any error in the reader; report the record itself.
      return bad(error instanceof TapeError ? error.why.replace(/\.$/, '') : String(error))
    }
  }
  return {
    ok: true,
    count: tape.count,
    digest: chain.digest(),
    signature,
    ...defined({ key }),
  }
}

function sealProblem(seal: SealEvent, found: SealStatement, count: number): string | undefined {
  if (seal.count !== found.count)
    return `the seal counts ${seal.count} events, but there are ${found.count}`
  if (seal.root !== found.root) return 'the Merkle root of the seal does not match the events'
  if (seal.seq !== count - 1) return 'an event follows the seal'
  return undefined
}
