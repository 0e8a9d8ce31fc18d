import type { ModelRequest } from './model-request.js'
import type { Finish, ScriptedAnswer, ScriptedUsage } from './scripted-answer.js'

/** The answer to one request, with everything filled in that a script may leave out. */
export interface Reply {
  /** Number of its request: ids and times are made from it, so they repeat with the script. */
  readonly number: number
  readonly model: string
  /** Seconds since 1970, as providers tell it; the first request is at the start of 2026. */
  readonly created: number
  readonly text: string
  /** The text as it is streamed. */
  readonly pieces: readonly string[]
  readonly reasoning: string
  readonly toolCalls: readonly ReplyToolCall[]
  readonly usage: ScriptedUsage
  readonly finish: Finish
}

export interface ReplyToolCall {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  /** The arguments as JSON, in the pieces in which they are streamed. */
  readonly pieces: readonly string[]
  /** Only when the script gives one; see `callId`. */
  readonly id: string | undefined
}

const FIRST_CREATED = Date.UTC(2026, 0, 1) / 1000
/** About so many characters are a token. */
const TOKEN_CHARACTERS = 4

export function makeReply(answer: ScriptedAnswer, request: ModelRequest): Reply {
  const { text = '', reasoning = '', toolCalls = [] } = answer
  return {
    number: request.number,
    model: request.model ?? 'scripted-model',
    created: FIRST_CREATED + request.number - 1,
    text,
    pieces: answer.chunks === undefined ? cutWords(text) : cutEvenly(text, answer.chunks),
    reasoning,
    toolCalls: toolCalls.map(({ name, args, id }) => ({
      name,
      args,
      pieces: cutEvenly(JSON.stringify(args), 2),
      id,
    })),
    usage: { ...estimateUsage(answer, request), ...answer.usage },
    finish: answer.finish ?? (toolCalls.length > 0 ? 'tool' : 'stop'),
  }
}

/** The id of a tool call: the script's, or one made of the provider's prefix and two numbers. */
export const callId = (reply: Reply, index: number, prefix: string): string =>
  reply.toolCalls[index]?.id ?? `${prefix}${numbered(reply.number, 12)}${numbered(index + 1, 2)}`

/** An id of this answer, such as `chatcmpl-000000000001`. */
export const replyId = ({ number }: { readonly number: number }, prefix: string): string =>
  prefix + numbered(number, 12)

const numbered = (value: number, digits: number): string => String(value).padStart(digits, '0')

function estimateUsage(answer: ScriptedAnswer, request: ModelRequest): ScriptedUsage {
  const { text = '', reasoning = '', toolCalls = [] } = answer
  const asked = request.messages.map((message) => message.text).join('')
  const called = toolCalls.map(({ name, args }) => name + JSON.stringify(args)).join('')
  const thought = tokensOf(reasoning)
  return {
    input: Math.max(1, tokensOf(asked)),
    cachedInput: 0,
    cacheWrite: 0,
    output: Math.max(1, tokensOf(text) + tokensOf(called) + thought),
    reasoning: thought,
  }
}

export const tokensOf = (text: string): number => Math.ceil(text.length / TOKEN_CHARACTERS)

/** A piece a word, blanks before it included. */
const cutWords = (text: string): string[] => text.match(/\s*\S+|\s+$/gu) ?? []

/** About equal pieces, never cut inside a character; fewer when there are not enough characters. */
export function cutEvenly(text: string, count: number): string[] {
  const characters = Array.from(text)
  const pieces = Math.min(Math.max(1, count), characters.length)
  return Array.from({ length: pieces }, (_, index) =>
    characters
      .slice(
        Math.floor((index * characters.length) / pieces),
        Math.floor(((index + 1) * characters.length) / pieces),
      )
      .join(''),
  )
}
