import { defined } from '../format/values/json-shape.js'
import type { OutputEvent } from '../format/events.js'
import type { RunView } from '../read-model/run-view.js'
import { hashText } from '../format/values/hash-text.js'

import { align, type Alignable, lazySketch } from './align.js'

export type OutputStream = OutputEvent['stream']

export interface PrintedLine {
  /** From 1. */
  readonly line: number
  readonly text: string
  /** Its first event, and the label of the last step that had begun. */
  readonly seq: number
  readonly step?: string
}

/** A line that differs. A line that only one run has is missing on the other side. */
export interface LineDiff {
  readonly stream: OutputStream
  readonly a?: PrintedLine
  readonly b?: PrintedLine
}

/** Differing lines in the output of two runs, stdout first. */
export const diffOutput = (a: RunView, b: RunView): LineDiff[] =>
  (['stdout', 'stderr'] as const).flatMap((stream) => {
    const [left, right] = [linesOf(a, stream), linesOf(b, stream)]
    return align(left.map(alignable), right.map(alignable))
      .map((pair) => ({ a: left[pair.a ?? -1], b: right[pair.b ?? -1] }))
      .filter((pair) => pair.a?.text !== pair.b?.text)
      .map((pair) => defined({ stream, ...pair }))
  })

const alignable = ({ text }: PrintedLine): Alignable => ({
  digest: hashText(text),
  family: 'line',
  sketch: lazySketch(() => text),
})

/** Lines of the stream, however the writes were split. */
const linesOf = (view: RunView, stream: OutputStream): PrintedLine[] => {
  const decoder = new TextDecoder()
  const lines: PrintedLine[] = []
  let rest: { text: string; seq: number } | undefined
  const take = (text: string, seq: number): void => {
    const step = view.stepBefore(seq)?.label
    lines.push({ line: lines.length + 1, text, seq, ...(step !== undefined && { step }) })
  }
  for (const event of view.outputs) {
    if (event.stream !== stream) continue
    const text = decoder.decode(view.outputBytes(event), { stream: true })
    const pieces = text.split('\n')
    for (const [index, piece] of pieces.entries()) {
      rest = { text: (rest?.text ?? '') + piece, seq: rest?.seq ?? event.seq }
      if (index === pieces.length - 1) break
      take(rest.text, rest.seq)
      rest = undefined
    }
  }
  if (rest !== undefined && rest.text !== '') take(rest.text, rest.seq)
  return lines
}
