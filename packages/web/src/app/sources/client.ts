import type { Explained } from '../../model/run-source.js'
import { viewerBase } from '../shell/address.js'
import { BackendError } from './backend-error.js'

/** An address below `/api`; values are escaped. */
export const url = (parts: TemplateStringsArray, ...values: readonly (string | number)[]): string =>
  String.raw({ raw: parts }, ...values.map(encodeURIComponent))

/** Error responses are thrown as `BackendError`. Other origins cannot set the header. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { 'x-retake': '1', ...(init.body && { 'content-type': 'application/json' }) }
  let response: Response
  try {
    response = await fetch(`${viewerBase()}/api${path}`, { ...init, headers })
  } catch (error) {
    throw init.signal?.aborted === true ? error : noAnswer()
  }
  if (response.ok) return response
  throw new BackendError(await readError(response), response.status)
}

export const read = async <T>(path: string): Promise<T> => (await (await request(path)).json()) as T

export async function post<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  return (await (await request(path, { method: 'POST', ...sent, signal })).json()) as T
}

/** The connection broke, or the server has ended. */
const noAnswer = (): BackendError =>
  new BackendError({
    code: 'VIEWER_NO_ANSWER',
    what: 'The viewer’s server is not responding.',
    why: 'It has ended, or the connection to it is broken.',
    fix: 'Try again later. If you started it with `retake ui`, start it again and open the address it prints.',
  })

async function readError(response: Response): Promise<Explained> {
  try {
    const { error } = (await response.json()) as { error: Explained }
    if (typeof error.what === 'string') return error
  } catch {
    // The response is not from our server, or was cut off.
  }
  return { code: 'VIEWER_NO_ANSWER', what: `The server answered with status ${response.status}.` }
}

/**
 * Yields the lines of a response as they arrive. An error of the server comes as the last line, and
 * is thrown. A reader that stops cancels the request.
 */
export async function* readLines<T>(path: string, signal?: AbortSignal): AsyncGenerator<T> {
  const { body } = await request(path, { signal })
  if (body === null) return
  let rest = ''
  const decoder = new TextDecoder()
  const reader = body.getReader()
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
