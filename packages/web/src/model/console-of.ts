import type { RunView } from '@retake/tape'
import { cutAt } from '@retake/tape/present'
import { LossyText } from './lossy-text.js'
import type { ConsolePart } from './run-parts.js'

/** Characters of one part, and bytes and parts of all of them, that are shown. */
const PART_MAX = 32_768
const BYTES_MAX = 4_000_000
const PARTS_MAX = 50_000

/**
 * What the agent wrote to its terminal, in order. A character that was written in
 * two parts stands in the second. Of very much output the end is left out; the last
 * part then says how much.
 */
export function consoleOf(view: RunView): ConsolePart[] {
  const streams = { stdout: new LossyText(), stderr: new LossyText() }
  const parts: ConsolePart[] = []
  let room = BYTES_MAX
  for (const [place, output] of view.outputs.entries()) {
    const { seq, at, stream } = output
    if (room <= 0 || parts.length === PARTS_MAX) {
      const leftOut = view.outputs.length - place
      parts.push({ seq, at, stream, text: '', clipped: true, leftOut })
      break
    }
    const bytes = view.outputBytes(output)
    const { text, isLossy } = streams[stream].read(bytes)
    const shown = cutAt(text, PART_MAX)
    const clipped = shown.length < text.length
    parts.push({ seq, at, stream, text: shown, clipped, ...(isLossy && { isLossy }) })
    room -= Math.min(bytes.length, PART_MAX)
  }
  return parts
}
