/** A model that judges, at any endpoint that speaks OpenAI's chat completions. */
export interface JudgeOptions {
  /** Start of its address, for example `http://127.0.0.1:11434/v1`. */
  readonly url?: string
  /** As the endpoint calls it. */
  readonly model?: string
  /** Name of the environment variable that holds the key; RETAKE_JUDGE_KEY unless set. The key itself is never stored. */
  readonly apiKeyEnv?: string
}

/** Sent when it is set, unless another variable is named. */
export const DEFAULT_KEY_VARIABLE = 'RETAKE_JUDGE_KEY'
