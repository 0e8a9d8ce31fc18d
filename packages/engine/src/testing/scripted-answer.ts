import type { Finish, ReplyToolCall, ScriptedError, ScriptedUsage } from '@retake/tape'

export type { Finish, ScriptedError, ScriptedUsage }
export type ScriptedToolCall = ReplyToolCall

/** Requests that an answer is reserved for. All conditions must match. */
export interface AnswerCondition {
  /** Text in the last message. */
  readonly contains?: string
  /** Text in the system prompt or instructions. */
  readonly system?: string
  readonly model?: string
}

/** The answer of a model, independent of any wire format. */
export interface ScriptedAnswer {
  readonly text?: string | undefined
  readonly reasoning?: string | undefined
  readonly toolCalls?: readonly ScriptedToolCall[] | undefined
  /**
   * Tokens by class; missing ones are estimated from the length of the texts. `input`,
   * `cachedInput` and `cacheWrite` do not overlap, and `reasoning` is part of `output`.
   */
  readonly usage?: Partial<ScriptedUsage> | undefined
  /** Default: `tool` if there are tool calls, otherwise `stop`. */
  readonly finish?: Finish | undefined
  readonly error?: ScriptedError | undefined
  /** Delay before the answer begins. */
  readonly delayMs?: number | undefined
  /** Number of pieces of a streamed text; by default one per word. */
  readonly chunks?: number | undefined
  /** Breaks the connection after this many pieces of a streamed answer. */
  readonly breakAfter?: number | undefined
  /**
   * Reserves the answer for matching requests, for concurrent agents. Each request gets the first
   * unused answer that matches.
   */
  readonly when?: AnswerCondition | undefined
}
