import { hc } from 'hono/client'
import type { Api } from '../../api/api.js'
import type { Explained } from '../../model/run-head.js'
import { BackendError } from './home-error.js'
import type { JSONParsed } from 'hono/utils/types'

/**
 * The API of the server this page came from. Its answers are good ones: everything
 * else is thrown as a `HomeError`. The header is one that no other page can set unasked.
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
 * What a server sent as JSON, as it was before. It is the same value: JSON leaves out
 * fields that are undefined, and ours hold nothing else that JSON cannot say.
 */
export async function readAnswer<T>(response: { json(): Promise<JSONParsed<T>> }): Promise<T> {
  return (await response.json()) as T
}

/**
 * The lines of an answer, each a piece of JSON, as they arrive. Where the server
 * could not go on, its reason is the last line, and thrown. Whoever stops reading
 * stops the server, too.
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
