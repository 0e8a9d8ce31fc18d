import { printDescribed } from '@retake/engine/inspect'
import type { CapturedState } from '@retake/tape'
import type { Mask } from './mask.js'

/** Members of findings that are fixed words or ids, and members that name steps. */
const FIXED = new Set(
  'verdict role kind mode purpose intervention status confidence author layer sign id'.split(' '),
)
const STEPS = new Set('label step steps from pinned upTo decisionStep commitStep'.split(' '))

/**
 * Masks texts in results of `retake blame` or `retake fix`, which may quote the run or the user.
 * Keeps step numbers even if they match, because a step without a number would be lost.
 */
export function maskFindings<T>(value: T, mask: Mask, name = ''): T {
  const masked = (): unknown => {
    if (typeof value === 'string') {
      const stays = FIXED.has(name) || (STEPS.has(name) && /^[\d.,– -]*$/.test(value))
      return stays ? value : mask.text(value)
    }
    if (Array.isArray(value)) return value.map((each) => maskFindings(each as unknown, mask, name))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, maskFindings(each as unknown, mask, key)]),
    )
  }
  return masked() as T
}

/** Suffix of a truncated text (`describeValue` of the engine). */
const CUT = /… \(\d+ characters\)$/
/** Characters before a cut that may begin something to hide, besides the last word. */
const TAIL = 40

/**
 * Hides all matches in captured states. Bytes are in hex. Long texts are truncated, possibly within
 * a value, so their last words are hidden too.
 */
export const maskStates = (states: readonly CapturedState[], mask: Mask): CapturedState[] =>
  states.map((state) => {
    const { frames, ...rest } = state
    return {
      ...(mask.deep(rest) as typeof rest),
      frames: frames.map(({ variables, ...frame }) => ({
        ...(mask.deep(frame) as typeof frame),
        variables: variables.map(({ name, json, text, ...about }) => {
          const masked = mask.deep(withoutHalves(json, mask))
          const isSame = JSON.stringify(masked) === JSON.stringify(json)
          return {
            ...about,
            name: mask.text(name),
            json: masked,
            text: isSame ? mask.text(text) : printDescribed(masked),
          }
        }),
      })),
    }
  })

function withoutHalves(value: unknown, mask: Mask): unknown {
  if (typeof value === 'string') {
    const cut = CUT.exec(value)
    return cut === null ? value : starEnd(value.slice(0, cut.index)) + cut[0]
  }
  if (Array.isArray(value)) return value.map((each) => withoutHalves(each, mask))
  if (typeof value !== 'object' || value === null) return value
  if (isBytes(value)) return { ...value, hex: maskedHex(value, mask) }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, withoutHalves(member, mask)]),
  )
}

function starEnd(text: string): string {
  let start = Math.max(0, text.length - TAIL)
  while (start > 0 && /\S/.test(text[start - 1] ?? '')) start--
  return text.slice(0, start) + '*'.repeat(text.length - start)
}

interface Bytes {
  readonly $type: string
  readonly bytes: number
  readonly hex: string
}

const isBytes = (value: object): value is Bytes =>
  'hex' in value && typeof value.hex === 'string' && 'bytes' in value && '$type' in value

function maskedHex({ bytes, hex }: Bytes, mask: Mask): string {
  const shown = Buffer.from(hex, 'hex')
  const [masked = shown] = mask.pieces([shown])
  if (bytes <= shown.length) return Buffer.from(masked).toString('hex')
  return Buffer.from(starEnd(Buffer.from(masked).toString('latin1')), 'latin1').toString('hex')
}
