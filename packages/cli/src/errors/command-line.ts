import { RetakeError } from '@retake/engine/errors'

/** The command line itself is wrong: exit code 2. */
export class UsageError extends RetakeError {
  override readonly name = 'UsageError'
}

export const unknownVerb = (verb: string, suggestion: string | undefined): UsageError =>
  new UsageError(
    'UNKNOWN_COMMAND',
    `There is no command "${verb}".`,
    suggestion === undefined
      ? 'No command has a similar name.'
      : `Did you mean \`retake ${suggestion}\`?`,
    '`retake --help` lists the commands.',
  )

export const wrongUsage = (verb: string, what: string, why: string): UsageError =>
  new UsageError('WRONG_USAGE', what, why, `\`retake ${verb} --help\` shows how it is used.`)

export const wrongStepCommand = (what: string, why: string): UsageError =>
  new UsageError('WRONG_STEP_COMMAND', what, why, '`help` lists the commands.')

export const pageNotFound = (name: string, suggestion: string | undefined): UsageError =>
  new UsageError(
    'PAGE_NOT_FOUND',
    `There is no page "${name}".`,
    suggestion === undefined
      ? 'No page and no error code has a similar name.'
      : `Did you mean \`retake docs ${suggestion}\`?`,
    '`retake docs` lists the pages; the page of an error is asked for by its code.',
  )
