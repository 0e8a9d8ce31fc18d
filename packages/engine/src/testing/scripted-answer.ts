import type { Finish, GivenReply, ReplyToolCall, ScriptedError, ScriptedUsage } from '@retake/tape'

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
export interface ScriptedAnswer extends GivenReply {
  readonly error?: ScriptedError | undefined
  /** Delay before the answer begins. */
  readonly delayMs?: number | undefined
  /** Breaks the connection after this many pieces of a streamed answer. */
  readonly breakAfter?: number | undefined
  /**
   * Reserves the answer for matching requests, for concurrent agents. Each request gets the first
   * unused answer that matches.
   */
  readonly when?: AnswerCondition | undefined
}
