import { RetakeError } from '@retake/engine/errors'
import { UsageError } from './command-line.js'
import { reason } from './reason.js'

export const redactPatternInvalid = (pattern: string, why: string): UsageError =>
  new UsageError(
    'REDACT_PATTERN_INVALID',
    `"${pattern}" cannot be used to redact.`,
    why,
    'Write a regular expression, or one of the names email, phone, card, iban, ip, key.',
  )

export const redactionIncomplete = (steps: number): RetakeError =>
  new RetakeError(
    'REDACTION_INCOMPLETE',
    'Something that matches could not be taken out, so nothing was written.',
    `It can still be read in ${steps === 1 ? 'one step' : `${steps} steps`} after redacting, spread over parts that cannot be blanked.`,
    'Use a pattern that matches less, or one that matches each part on its own.',
  )

export const reportWouldOverwrite = (file: string): RetakeError =>
  new RetakeError(
    'REPORT_WOULD_OVERWRITE',
    `${file} is there already, and it is not a report.`,
    'Only a report of Retake is replaced without asking.',
    'Name another file with -o, or add --force to replace this one.',
  )

export const runReportNotWritable = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'REPORT_NOT_WRITABLE',
    `The report cannot be written to ${file}.`,
    `The system said: ${reason(cause)}.`,
    'Name another file, in a folder that exists and can be written to.',
    { cause },
  )
