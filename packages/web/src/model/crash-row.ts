import type { RecordedError, RunView, Tape } from '@retake/tape'
import { blankRow, type StepRow } from '@retake/tape/present'
import { clipError, cutText } from './clip.js'
import { CRASH_LABEL, type StepDetail } from './run-source.js'
import { siteInStack } from './site-in-stack.js'

const LINE = 300

/** The error that ended a run. If no step failed with it, it is a separate row after the last one. */
export class CrashRow {
  /** Label of the row with the error; undefined if no error ended the run. */
  readonly exitStep: string | undefined
  /** Undefined if a step failed with the error. */
  readonly row: StepRow | undefined
  readonly #view: RunView
  readonly #error: RecordedError | undefined

  constructor(tape: Tape, view: RunView) {
    const error = view.exit?.error
    this.#view = view
    this.#error = error
    if (error === undefined) return
    const step = view.recordedSteps.findLast(({ failure }) => failure && isSame(failure, error))
    this.exitStep = step?.label ?? CRASH_LABEL
    if (step !== undefined) return
    const text = textOf(error)
    this.row = blankRow({
      label: CRASH_LABEL,
      seq: endOf(tape),
      kind: 'crash',
      state: 'failed',
      title: cutText(`${error.name}${whereOf(error)}: ${firstLine(error.message)}`, LINE),
      at: view.durationMs,
      error: cutText(text, LINE),
    })
  }

  /** `parent` is the last step before it. */
  detail(): StepDetail | undefined {
    const { row } = this
    const error = this.#error
    if (row === undefined || error === undefined) return undefined
    return {
      ...row,
      parent: this.#view.recordedSteps.at(-1)?.label,
      number: 0,
      startedAt: this.#view.startedAt + row.at,
      site: siteInStack(error),
      answeredSeq: row.seq,
      failure: clipError(error),
      scopes: [],
      timeToFirstChunkMs: undefined,
      usage: undefined,
      finishReason: undefined,
      conversation: undefined,
      request: undefined,
      response: undefined,
      call: undefined,
      mcp: undefined,
      guard: undefined,
    }
  }
}

/** The same error object has the same stack; errors without one are compared by their text. */
const isSame = (left: RecordedError, right: RecordedError): boolean =>
  textOf(left) === textOf(right) && (left.stack ?? '') === (right.stack ?? '')

const textOf = ({ name, message }: RecordedError): string => `${name}: ${message}`

const firstLine = (message: string): string => message.split('\n', 1)[0] ?? ''

/** ` at agent.ts:8`; empty if the stack has no line of the agent. */
function whereOf(error: RecordedError): string {
  const [, file, line] = /([^/\\]+):(\d+):\d+$/.exec(siteInStack(error) ?? '') ?? []
  return file === undefined ? '' : ` at ${file}:${line}`
}

function endOf(tape: Tape): number {
  for (let seq = tape.count - 1; seq >= 0; seq--) if (tape.event(seq).type === 'end') return seq
  return tape.count - 1
}
