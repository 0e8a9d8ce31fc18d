import { hc } from 'hono/client'
import type { JSONParsed } from 'hono/utils/types'
import type { Api } from '../../api/api.js'
import type { Explained } from '../../model/run-head.js'
import { BackendError } from './backend-error.js'

/**
 * The API of the server. Error responses are thrown as `BackendError`. Other origins cannot
 * set this header.
 */
export const client = hc<Api>('/api', { headers: { 'x-retake': '1' }, fetch: request })

async function request(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(input, init)
  } catch (error) {
    throw init?.signal?.aborted === true ? error : noAnswer()
  }
  if (response.ok) return response
  throw new BackendError(await readError(response), response.status)
}

/** The connection broke, or the server has ended. */
const noAnswer = (): BackendError =>
  new BackendError({
    code: 'VIEWER_NO_ANSWER',
    what: 'The viewer’s server does not answer.',
    why: 'It has ended, or the connection to it is broken.',
    fix: 'If it has ended, start `retake ui` again and open the address it prints.',
  })

async function readError(response: Response): Promise<Explained> {
  try {
    const { error } = (await response.json()) as { error: Explained }
    if (typeof error.what === 'string') return error
  } catch {
    // Not from our server, or cut off.
  }
  return { code: 'VIEWER_NO_ANSWER', what: `The server answered with status ${response.status}.` }
}

/**
 * The JSON of a response with its original type: our values contain nothing that JSON would
 * change, except for undefined fields.
 */
export async function readAnswer<T>(response: { json(): Promise<JSONParsed<T>> }): Promise<T> {
  return (await response.json()) as T
}

/**
 * The lines of a response as they arrive. An error of the server is its last line, and thrown.
 * A reader that stops cancels the request.
 */
export async function* readLines<T>(response: Response): AsyncGenerator<T> {
  if (response.body === null) return
  let rest = ''
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true })
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield readLine(line) as T
      if (done) return
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}

function readLine(line: string): unknown {
  const value = JSON.parse(line) as { readonly $error?: Explained } | null
  if (value?.$error !== undefined) throw new BackendError(value.$error)
  return value
}
