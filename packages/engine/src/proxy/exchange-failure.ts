import type { RecordedError } from '@retake/tape/format'
import { errors, type RetakeError } from '../errors.js'

const GONE = 'ABORT_ERR'

/** How it stands on the tape that a client did not wait for the rest of its answer. */
export const clientGone = (message: string): RecordedError => ({
  class: 'Error',
  name: 'AbortError',
  message,
  code: GONE,
})

export const isClientGone = ({ code, name }: RecordedError): boolean =>
  code === GONE && name === 'AbortError'

/** What a client is told when the provider gave no answer: the same when recording and replaying. */
export function upstreamFailure(error: RecordedError): RetakeError {
  const [inner] = error.errors ?? []
  const { message, code } = error.message === '' && inner ? inner : error
  const said =
    code === undefined || message.includes(String(code)) ? message : `${message} (${code})`
  return errors.UPSTREAM_FAILED(said)
}
