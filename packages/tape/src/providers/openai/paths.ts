/** Shared by everybody who is compatible with OpenAI: decides only where one of them is routed. */
export const OPENAI_PATHS =
  /^(\/openai)?(\/v\d+)?\/(chat\/completions|responses|completions|embeddings|models|files|images|audio|moderations|batches)(\/|$)/
