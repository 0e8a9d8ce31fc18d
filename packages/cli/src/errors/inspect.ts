import { RetakeError } from '@retake/engine/errors'
import { UsageError } from './command-line.js'
import { reason } from './reason.js'

export const noUserCodeAfter = (run: string, step: string): RetakeError =>
  new RetakeError(
    'NO_USER_CODE_AFTER',
    `No code of yours ran after the answer of step ${step} of run ${run}.`,
    'The run ended without it, so there is no line to show.',
    'Look at an earlier step, or at the step itself with `retake show`.',
  )

export const sourceFileMissing = (file: string, folders: readonly string[]): RetakeError =>
  new RetakeError(
    'SOURCE_FILE_MISSING',
    `There is no source file ${file}.`,
    `It was looked for in ${folders.join(' and ')}.`,
    'Name it as seen from the folder where the run was recorded, for example src/agent.ts:42.',
  )

export const lineNeverRan = (file: string, line: number, why: string): RetakeError =>
  new RetakeError(
    'LINE_NEVER_RAN',
    `Line ${line} of ${file} never ran.`,
    why,
    'Choose a line that runs; `retake replay <run> --step N` shows where the program stands at a step.',
  )

export const expressionInvalid = (expression: string, cause: unknown): UsageError =>
  new UsageError(
    'EXPRESSION_INVALID',
    `"${expression}" is not a JavaScript expression.`,
    `${reason(cause)}.`,
    'Put it in single quotes, so that the shell leaves it alone, and use JavaScript without types.',
  )

export const inspectorNotOpened = (port: number): RetakeError =>
  new RetakeError(
    'INSPECTOR_NOT_OPENED',
    `The inspector could not be opened on port ${port}.`,
    'Another program uses the port, or it may not be used.',
    'Choose another one: --inspect=9230, or --inspect=0 for any that is free.',
  )

export const noState = (run: string, step: string | undefined): RetakeError =>
  new RetakeError(
    'NO_STATE',
    step === undefined
      ? `There is no state of run ${run}.`
      : `The state of step ${step} of run ${run} was not captured.`,
    'State is captured afterwards, by replaying.',
    `Capture it with \`retake snapshot ${run}\`.`,
  )

export const stateUnreadable = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'STATE_UNREADABLE',
    `The captured state ${file} cannot be read.`,
    `${reason(cause)}.`,
    'Capture it again with `retake snapshot`; nothing is lost, it comes from the tape.',
    { cause },
  )
