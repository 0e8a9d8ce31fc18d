import type { RecordedError, RunView, Tape } from '@retake/tape'
import { blankRow, type StepRow } from '@retake/tape/present'
import { clipError, cutText } from './clip.js'
import { CRASH_LABEL, type StepDetail } from './run-source.js'
import { siteInStack } from './site-in-stack.js'

const LINE = 300

/**
 * The error that ended a run: the label of its row, and a separate row with detail unless a step failed
 * with the same error. Undefined if no error ended the run.
 */
export function crashOf(
  tape: Tape,
  view: RunView,
): { exitStep: string; row?: StepRow; detail?: () => StepDetail } | undefined {
  const error = view.exit?.error
  if (error === undefined) return undefined
  // The same error has the same stack. Errors without a stack are compared by their text.
  const step = view.recordedSteps.findLast(
    ({ failure }) =>
      failure && textOf(failure) === textOf(error) && (failure.stack ?? '') === (error.stack ?? ''),
  )
  if (step !== undefined) return { exitStep: step.label }
  let endSeq = tape.count - 1
  while (endSeq >= 0 && tape.event(endSeq).type !== 'end') endSeq--
  const [, file, line] = /([^/\\]+):(\d+):\d+$/.exec(siteInStack(error) ?? '') ?? []
  const where = file === undefined ? '' : ` at ${file}:${line}`
  const row = blankRow({
    label: CRASH_LABEL,
    seq: endSeq < 0 ? tape.count - 1 : endSeq,
    kind: 'crash',
    state: 'failed',
    title: cutText(`${error.name}${where}: ${error.message.split('\n', 1)[0] ?? ''}`, LINE),
    at: view.durationMs,
    error: cutText(textOf(error), LINE),
  })
  const detail = (): StepDetail => ({
    ...row,
    parent: view.recordedSteps.at(-1)?.label,
    number: 0,
    startedAt: view.startedAt + row.at,
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
  })
  return { exitStep: CRASH_LABEL, row, detail }
}

const textOf = ({ name, message }: RecordedError): string => `${name}: ${message}`
