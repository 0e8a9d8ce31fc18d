import type { CallDetail } from '@retake/tape'
import { cutAt } from '@retake/tape/present'
import { LossyText } from './lossy-text.js'
import type { CallView } from './step-detail.js'

/** Characters and pieces of a process's output that are shown. */
const CHARACTERS_MAX = 262_144
const PIECES_MAX = 2000

/** What a process printed, as text. */
export function outputOf(output: CallDetail['output']): Pick<CallView, 'output' | 'outputBytes'> {
  const pipes = new Map<number, LossyText>()
  const shown: CallView['output'][number][] = []
  let room = CHARACTERS_MAX
  for (const { at, pipe, bytes } of output) {
    if (room <= 0 || shown.length === PIECES_MAX) break
    const reader = pipes.get(pipe) ?? new LossyText()
    pipes.set(pipe, reader)
    // More bytes than there is room for characters cannot be shown anyway.
    const { text, isLossy } = reader.read(bytes.subarray(0, room))
    room -= bytes.length
    shown.push({ at, pipe, text: cutAt(text, CHARACTERS_MAX), ...(isLossy && { isLossy }) })
  }
  const total = output.reduce((sum, { bytes }) => sum + bytes.length, 0)
  const isCut = room < 0 || shown.length < output.length
  return { output: shown, ...(isCut && { outputBytes: total }) }
}
