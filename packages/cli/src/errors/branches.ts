import { RetakeError } from '@retake/engine/errors'
import { reason } from './reason.js'

/** A run would go live without the keys it was recorded with: exit code 4. */
export class CredentialsError extends RetakeError {
  override readonly name = 'CredentialsError'
}

export const credentialsMissing = (names: readonly string[]): CredentialsError =>
  new CredentialsError(
    'CREDENTIALS_MISSING',
    `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not set here.`,
    'The run was recorded with it; tapes hold no secrets, and what comes after the served part is live.',
    'Set it and try again, give any value with `--env NAME=value`, or stay offline with `--tail offline`.',
  )

/** The same for a page, which has no options of a command line. */
export const credentialsMissingHere = ({ code, what, why }: CredentialsError): CredentialsError =>
  new CredentialsError(
    code,
    what,
    why,
    'Stop `retake ui`, set it and start again; or choose an offline tail, which asks nobody.',
  )

export const responseUnreadable = (file: string, cause: unknown): RetakeError =>
  new RetakeError(
    'RESPONSE_UNREADABLE',
    `The file ${file} cannot be read.`,
    `The system said: ${reason(cause)}.`,
    'Name a file that holds the answer: JSON for models and tools, else the bytes of the body.',
    { cause },
  )

export const editorFailed = (editor: string, status: number | null): RetakeError =>
  new RetakeError(
    'EDITOR_FAILED',
    `The editor "${editor}" could not be used.`,
    status === null ? 'It did not start.' : `It ended with exit code ${status}.`,
    'Set $EDITOR to one that waits until the file is closed, or use --set or --response.',
  )

export const editedNotJson = (cause: unknown): RetakeError =>
  new RetakeError(
    'EDIT_NOT_JSON',
    'What was saved is not JSON.',
    `It says: ${reason(cause)}.`,
    'Edit it again; nothing was forked.',
    { cause },
  )

export const nothingEdited = (step: string): RetakeError =>
  new RetakeError(
    'NOTHING_EDITED',
    `The answer of step ${step} was not changed.`,
    'The file was saved as it was, or not at all.',
    'Change something and save it; to ask the step again as it is, leave out --edit.',
  )

export const payloadNotChanged = (what: string): RetakeError =>
  new RetakeError(
    'NOTHING_EDITED',
    `${what} was not changed.`,
    'What was sent is the same as what was recorded.',
    'Change something, or fork without an edit to ask the step again as it is.',
  )
