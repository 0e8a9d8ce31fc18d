import type { Finish, ReplyToolCall, ScriptedError, ScriptedUsage } from '@retake/tape'

export type { Finish, ScriptedError, ScriptedUsage }
export type ScriptedToolCall = ReplyToolCall

/** Which requests an answer is for. All that is given must fit. */
export interface AnswerCondition {
  /** Stands in the last message. */
  readonly contains?: string
  /** Stands in the system prompt or instructions. */
  readonly system?: string
  readonly model?: string
}

/** The answer of a model, independent of any wire format. */
export interface ScriptedAnswer {
  readonly text?: string | undefined
  readonly reasoning?: string | undefined
  readonly toolCalls?: readonly ScriptedToolCall[] | undefined
  /**
   * Tokens by class; those left out are estimated from the length of the texts.
   * As everywhere in Retake, `input`, `cachedInput` and `cacheWrite` do not
   * overlap, and `reasoning` is part of `output`.
   */
  readonly usage?: Partial<ScriptedUsage> | undefined
  /** `tool` when there are tool calls, otherwise `stop`, unless said. */
  readonly finish?: Finish | undefined
  readonly error?: ScriptedError | undefined
  /** How long the model thinks before its answer begins. */
  readonly delayMs?: number | undefined
  /** How many pieces a streamed text is cut into; a piece a word unless said. */
  readonly chunks?: number | undefined
  /** Breaks the connection after so many pieces of a streamed answer. */
  readonly breakAfter?: number | undefined
  /**
   * Keeps the answer for requests that fit: for agents that ask at the same time.
   * Each request gets the first unused answer that fits it.
   */
  readonly when?: AnswerCondition | undefined
}
