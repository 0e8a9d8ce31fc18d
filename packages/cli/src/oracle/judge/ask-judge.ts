import { setTimeout as wait } from 'node:timers/promises'
import { clipText } from '@retake/tape'
import { cliErrors } from '../../errors.js'
import { retryAfterMs } from '../../retry-after.js'
import type { ChatMessage } from './judge-check.js'

export interface JudgeEndpoint {
  readonly url: string
  readonly model: string
  readonly key?: string
}

/** Tried so often in all before it is given up on. */
const TRIES = 6
const FIRST_WAIT_MS = 500
const SHOWN_MAX = 200

/** What the judge said, or why it said nothing. */
export type JudgeSaid = { readonly text: string } | { readonly silent: string }

/**
 * Asks once, and again after a while when the endpoint is busy, broken or not reached.
 * Throws when it refuses: that would be the same for every run. The key is in no message.
 */
export async function askJudge(
  endpoint: JudgeEndpoint,
  messages: readonly ChatMessage[],
  signal: AbortSignal,
): Promise<JudgeSaid> {
  let silent = ''
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const answer = await request(endpoint, messages, signal)
    if ('text' in answer) return answer
    silent = answer.silent
    if (answer.isFinal === true) return { silent }
    const backOffMs = FIRST_WAIT_MS * 2 ** attempt
    if (attempt < TRIES - 1) await wait(answer.waitMs ?? backOffMs, undefined, { signal })
  }
  return { silent }
}

interface Silence {
  readonly silent: string
  readonly waitMs?: number
  /** Asking again would not help. */
  readonly isFinal?: boolean
}

async function request(
  { url, model, key }: JudgeEndpoint,
  messages: readonly ChatMessage[],
  signal: AbortSignal,
): Promise<{ readonly text: string } | Silence> {
  const hidden = (text: string): string => (key ? text.replaceAll(key, '***') : text)
  let response: Response
  let body: string
  try {
    response = await fetch(completionsOf(url), {
      method: 'POST',
      redirect: 'manual',
      signal,
      headers: {
        'content-type': 'application/json',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({ model, messages }),
    })
    body = await response.text()
  } catch (error) {
    signal.throwIfAborted()
    return { silent: `the judge was not reached: ${hidden(causeOf(error))}` }
  }
  const { status } = response
  if (status === 408 || status === 429 || status >= 500) {
    const waitMs = retryAfterMs(response.headers.get('retry-after'), Date.now())
    return { silent: `the judge answered ${status}`, ...(waitMs !== undefined && { waitMs }) }
  }
  if (status !== 200)
    throw cliErrors.JUDGE_REFUSED(url, status, hidden(clipText(body.trim(), SHOWN_MAX)))
  const text = contentOf(body)
  return text === undefined
    ? { silent: 'the judge gave no answer that can be read', isFinal: true }
    : { text }
}

const completionsOf = (url: string): string =>
  /\/chat\/completions\/?$/.test(url) ? url : `${url.replace(/\/+$/, '')}/chat/completions`

/** `fetch failed` alone says nothing. */
function causeOf(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  const told = cause instanceof Error ? cause : error
  return told instanceof Error ? told.message || told.name : String(told)
}

function contentOf(body: string): string | undefined {
  try {
    const { choices } = JSON.parse(body) as {
      choices?: readonly { message?: { content?: unknown } }[]
    }
    const content = choices?.[0]?.message?.content
    return typeof content === 'string' ? content : undefined
  } catch {
    return undefined
  }
}
