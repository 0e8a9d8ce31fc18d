import type { RunView } from '@retake/tape'
import type { ConsolePart } from './run-parts.js'

const lossyText = new TextDecoder()

/** What the agent wrote to its terminal, in order. */
export const consoleOf = (view: RunView): ConsolePart[] =>
  view.outputs.map((output) => ({
    seq: output.seq,
    at: output.at,
    stream: output.stream,
    text: lossyText.decode(view.outputBytes(output)),
    clipped: false,
  }))
