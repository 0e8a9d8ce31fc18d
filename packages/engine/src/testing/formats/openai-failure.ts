import { replyId } from '../reply.js'
import type { ScriptedError } from '../scripted-answer.js'
import { jsonAnswer, retryHeaders } from '../wire-format.js'
import type { Failed, WireAnswer } from '../wire-format.js'

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
}

/** An error as OpenAI and everybody compatible tells it. */
export function openaiFailure(error: ScriptedError, request: Failed): WireAnswer {
  const type =
    TYPES[error.status] ?? (error.status >= 500 ? 'server_error' : 'invalid_request_error')
  const { message, status, code = null } = error
  const body =
    request.provider === 'mistral'
      ? { object: 'error', message, type, param: null, code }
      : { error: { message, type, param: null, code } }
  return jsonAnswer(
    body,
    { 'x-request-id': replyId(request, 'req_'), ...retryHeaders(error) },
    status,
  )
}
