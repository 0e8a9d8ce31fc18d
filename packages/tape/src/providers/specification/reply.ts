import type { JsonRecord } from '../../format/values/json-shape.js'
import type { ChatDialect } from './chat-dialect.js'
import type { Usage } from './usage.js'

export type CutText = (text: string) => readonly string[]

/** Maximum number of pieces, whatever the length of the text. */
const PIECES_MAX = 200

/** Splits a text into pieces of about a word, as a model streams it; never inside a character. */
export const textPieces = (text: string): string[] => {
  const size = Math.max(1, Math.ceil(text.length / PIECES_MAX))
  const pieces: string[] = []
  let piece = ''
  for (const word of text.match(/\s*\S{1,12}|\s+/gu) ?? []) {
    piece += word
    if (piece.length < size) continue
    pieces.push(piece)
    piece = ''
  }
  return piece === '' ? pieces : [...pieces, piece]
}

/** Why the model stopped, in one word for all providers. */
export type Finish = 'stop' | 'length' | 'tool' | 'filter'

export type ScriptedUsage = Pick<
  Usage,
  'input' | 'cachedInput' | 'cacheWrite' | 'output' | 'reasoning'
>

/** A model's answer, independent of any wire format, with every field filled in. */
export interface Reply {
  /** Number of its request. Ids and times are derived from it, so a script repeats them. */
  readonly number: number
  readonly model: string
  /** Seconds since 1970; the first request is at the start of 2026. */
  readonly created: number
  readonly text: string
  readonly reasoning: string
  readonly toolCalls: readonly ReplyToolCall[]
  readonly usage: ScriptedUsage
  readonly finish: Finish
  /** Number of pieces of a streamed text; one per word if undefined. */
  readonly chunks: number | undefined
}

export interface ReplyToolCall {
  readonly name: string
  readonly args: JsonRecord
  /** If missing, made up in the provider's style; see `callId`. */
  readonly id?: string
}

/** The parts of a request that its answer repeats or depends on. */
export interface ReplyRequest {
  readonly number: number
  /** With its query. */
  readonly path: string
  readonly body: JsonRecord
  readonly stream: boolean
  readonly model?: string
  /** Dialect of the server that the client wants to reach. */
  readonly dialect?: ChatDialect
}

export interface ScriptedError {
  readonly status: number
  readonly message: string
  /** Seconds a client should wait before it retries. */
  readonly retryAfter?: number
  /** The provider's own code or type; derived from the status if missing. */
  readonly code?: string
}

/** A request that gets an error. A request to an unknown path has no format. */
export type FailedRequest = Pick<ReplyRequest, 'number' | 'path' | 'dialect'> & {
  readonly stream?: boolean
}

const FIRST_CREATED = Date.UTC(2026, 0, 1) / 1000
const CHARACTERS_PER_TOKEN = 4

/** A reply in which any field may be missing. */
export interface GivenReply {
  readonly text?: string | undefined
  readonly reasoning?: string | undefined
  readonly toolCalls?: readonly ReplyToolCall[] | undefined
  /**
   * Tokens by class; missing ones are estimated from the length of the texts. `input`,
   * `cachedInput` and `cacheWrite` do not overlap, and `reasoning` is part of `output`.
   */
  readonly usage?: Partial<ScriptedUsage> | undefined
  /** Default: `tool` if there are tool calls, otherwise `stop`. */
  readonly finish?: Finish | undefined
  /** Number of pieces of a streamed text; by default one per word. */
  readonly chunks?: number | undefined
}

/** Completes a reply. Usage that is not given is estimated from the length of the texts. */
export const makeReply = (
  given: GivenReply,
  request: { readonly number: number; readonly model?: string; readonly promptText: string },
): Reply => {
  const { text = '', reasoning = '', toolCalls = [], chunks } = given
  const called = toolCalls.map(({ name, args }) => name + JSON.stringify(args)).join('')
  const thought = tokensOf(reasoning)
  return {
    number: request.number,
    model: request.model ?? 'scripted-model',
    created: FIRST_CREATED + request.number - 1,
    text,
    reasoning,
    toolCalls,
    usage: {
      input: Math.max(1, tokensOf(request.promptText)),
      cachedInput: 0,
      cacheWrite: 0,
      output: Math.max(1, tokensOf(text) + tokensOf(called) + thought),
      reasoning: thought,
      ...given.usage,
    },
    finish: given.finish ?? (toolCalls.length > 0 ? 'tool' : 'stop'),
    chunks,
  }
}

/** False if the reply consists of reasoning or tool calls only. */
export const hasText = ({ text, reasoning, toolCalls }: Reply): boolean =>
  text !== '' || (reasoning === '' && toolCalls.length === 0)

/** The id of a tool call: the script's, or the provider's prefix and two numbers. */
export const callId = (reply: Reply, index: number, prefix: string): string =>
  reply.toolCalls[index]?.id ?? `${prefix}${numbered(reply.number, 12)}${numbered(index + 1, 2)}`

/** An id of this answer, such as `chatcmpl-000000000001`. */
export const replyId = ({ number }: { readonly number: number }, prefix: string): string =>
  prefix + numbered(number, 12)

const numbered = (value: number, digits: number): string => String(value).padStart(digits, '0')

export const tokensOf = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN)

/** Cuts the texts of a reply: text as scripted, reasoning whole, arguments in two. */
export const cutReply =
  ({ text, reasoning, chunks }: Reply) =>
  (given: string): readonly string[] => {
    if (given === '') return []
    // By default, one piece per word, with the blanks before it.
    if (given === text)
      return chunks === undefined ? (text.match(/\s*\S+|\s+$/gu) ?? []) : cutEvenly(text, chunks)
    return given === reasoning ? [reasoning] : cutEvenly(given, 2)
  }

/** Pieces of about equal length, never cut inside a character; fewer if the text is shorter. */
export const cutEvenly = (text: string, count: number): string[] => {
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
