import { hc } from 'hono/client'
import type { Api } from '../../api/api.js'
import type { Explained } from '../../model/run-head.js'
import { HomeError } from './home-error.js'

/**
 * The API of the server this page came from. Its answers are good ones: everything
 * else is thrown as a `HomeError`. The header is one that no other page can set unasked.
 */
export const client = hc<Api>('/api', { headers: { 'x-retake': '1' }, fetch: ask })

async function ask(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(input, init)
  } catch (error) {
    throw init?.signal?.aborted === true ? error : noAnswer()
  }
  if (response.ok) return response
  throw new HomeError(await readError(response), response.status)
}

/** The connection broke, or the server has ended. */
const noAnswer = (): HomeError =>
  new HomeError({
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
