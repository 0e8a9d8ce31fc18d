import type { LongInput, Price, PriceTable } from './prices.js'

/**
 * How old the table below is: the date of its oldest source. Providers change
 * prices without notice: override what must be right.
 */
export const PRICES_AS_OF = '2026-08'

const openai = (
  input: number,
  cachedInput: number,
  output: number,
  more: Partial<Price> = {},
): Price => ({ input, cachedInput, output, ...more })

const claude = (input: number, output: number, more: Partial<Price> = {}): Price => ({
  input,
  cachedInput: input / 10,
  cacheWrite: input * 1.25,
  cacheWriteLong: input * 2,
  output,
  ...more,
})

/** Above this much input, everything costs so many times as much. */
const long = (
  above: number,
  inputFactor: number,
  outputFactor: number,
): { longInput: LongInput } => ({
  longInput: { above, inputFactor, outputFactor },
})
const OVER_200K = long(200_000, 2, 1.5)
const OVER_272K = long(272_000, 2, 1.5)
/** OpenAI charges for writing to the cache since GPT-5.6. */
const withWrites = (input: number, cachedInput: number, output: number): Price =>
  openai(input, cachedInput, output, { cacheWrite: input * 1.25, ...OVER_272K })
/** On Bedrock, a part of the world costs a tenth more than anywhere. */
const REGIONAL = { regionalFactor: 1.1 }

/**
 * OpenAI's price list, as LiteLLM's table had it on 2026-08-08 and genai-prices
 * on 2026-08-21; GPT-6, and GPT-5.6 Sol after its price was cut, as of
 * September 2026. Azure's global deployments cost the same.
 */
const OPENAI: PriceTable = {
  'gpt-3.5-turbo': { input: 0.5, output: 1.5 },
  'gpt-3.5-turbo-0125': { input: 0.5, output: 1.5 },
  'gpt-3.5-turbo-instruct': { input: 1.5, output: 2 },
  'gpt-4': { input: 30, output: 60 },
  'gpt-4-0613': { input: 30, output: 60 },
  'gpt-4-turbo': { input: 10, output: 30 },
  'gpt-4o': openai(2.5, 1.25, 10),
  'gpt-4o-2024-05-13': { input: 5, output: 15 },
  'gpt-4o-mini': openai(0.15, 0.075, 0.6),
  'gpt-4.1': openai(2, 0.5, 8),
  'gpt-4.1-mini': openai(0.4, 0.1, 1.6),
  'gpt-4.1-nano': openai(0.1, 0.025, 0.4),
  'gpt-5': openai(1.25, 0.125, 10),
  'gpt-5-chat': openai(1.25, 0.125, 10),
  'gpt-5-codex': openai(1.25, 0.125, 10),
  'gpt-5-mini': openai(0.25, 0.025, 2),
  'gpt-5-nano': openai(0.05, 0.005, 0.4),
  'gpt-5-pro': { input: 15, output: 120 },
  'gpt-5.1': openai(1.25, 0.125, 10),
  'gpt-5.1-codex': openai(1.25, 0.125, 10),
  'gpt-5.1-chat': openai(1.25, 0.125, 10),
  'gpt-5.1-codex-max': openai(1.25, 0.125, 10),
  'gpt-5.1-codex-mini': openai(0.25, 0.025, 2),
  'gpt-5.2': openai(1.75, 0.175, 14),
  'gpt-5.2-chat': openai(1.75, 0.175, 14),
  'gpt-5.2-codex': openai(1.75, 0.175, 14),
  'gpt-5.2-pro': { input: 21, output: 168 },
  'gpt-5.3-chat': openai(1.75, 0.175, 14),
  'gpt-5.3-codex': openai(1.75, 0.175, 14),
  'gpt-5.4': openai(2.5, 0.25, 15, OVER_272K),
  'gpt-5.4-mini': openai(0.75, 0.075, 4.5),
  'gpt-5.4-nano': openai(0.2, 0.02, 1.25),
  'gpt-5.4-pro': { input: 30, output: 180, ...OVER_272K },
  'gpt-5.5': openai(5, 0.5, 30, OVER_272K),
  'gpt-5.5-pro': { input: 30, output: 180, ...OVER_272K },
  'gpt-5.6-luna': withWrites(0.2, 0.02, 1.2),
  'gpt-5.6-terra': withWrites(2, 0.2, 12),
  'gpt-5.6-sol': { input: 4, output: 20, ...OVER_272K },
  'gpt-6-luna': withWrites(0.1, 0.01, 0.5),
  'gpt-6-sol': withWrites(2, 0.2, 10),
  o1: openai(15, 7.5, 60),
  'o1-pro': { input: 150, output: 600 },
  o3: openai(2, 0.5, 8),
  'o3-mini': openai(1.1, 0.55, 4.4),
  'o3-pro': { input: 20, output: 80 },
  'o3-deep-research': openai(10, 2.5, 40),
  'o4-mini': openai(1.1, 0.275, 4.4),
  'o4-mini-deep-research': openai(2, 0.5, 8),
  'text-embedding-3-small': { input: 0.02, output: 0 },
  'text-embedding-3-large': { input: 0.13, output: 0 },
  'text-embedding-ada-002': { input: 0.1, output: 0 },
}

/**
 * Anthropic's documentation (platform.claude.com, pricing and models), as of
 * October 2026. Sonnet 5 kept its first price, which other tables let end in August.
 */
const ANTHROPIC: PriceTable = {
  'claude-3-haiku': claude(0.25, 1.25, { cachedInput: 0.03, cacheWrite: 0.3 }),
  'claude-3-5-haiku': claude(0.8, 4),
  'claude-haiku-4-5': claude(1, 5, REGIONAL),
  'claude-haiku-5-5': claude(0.1, 0.5, { ...long(100_000, 5, 5), ...REGIONAL }),
  'claude-3-5-sonnet': claude(3, 15),
  'claude-3-7-sonnet': claude(3, 15),
  'claude-sonnet-4': claude(3, 15, OVER_200K),
  'claude-sonnet-4-5': claude(3, 15, { ...OVER_200K, ...REGIONAL }),
  'claude-sonnet-4-6': claude(3, 15, REGIONAL),
  'claude-sonnet-5': claude(2, 10, REGIONAL),
  'claude-sonnet-5-5': claude(2, 10, REGIONAL),
  'claude-3-opus': claude(15, 75),
  'claude-opus-4': claude(15, 75),
  'claude-opus-4-1': claude(15, 75),
  'claude-opus-4-5': claude(5, 25, REGIONAL),
  'claude-opus-4-6': claude(5, 25, REGIONAL),
  'claude-opus-4-7': claude(5, 25, REGIONAL),
  'claude-opus-4-8': claude(5, 25, REGIONAL),
  'claude-opus-5': claude(5, 25, REGIONAL),
  'claude-opus-5-5': claude(4, 20, { cachedInput: 0.2, ...REGIONAL }),
  'claude-fable-5': claude(10, 50, REGIONAL),
  'claude-fable-5-1': claude(10, 50, { cachedInput: 0.25, ...REGIONAL }),
}

/**
 * Google's price list for text, images and video, as LiteLLM's table had it on
 * 2026-08-08 and genai-prices on 2026-08-21. Prices that are announced to end are left out.
 */
const GOOGLE: PriceTable = {
  'gemini-2.0-flash': openai(0.1, 0.025, 0.4),
  'gemini-2.0-flash-lite': { input: 0.075, output: 0.3 },
  'gemini-2.5-pro': openai(1.25, 0.125, 10, OVER_200K),
  'gemini-2.5-flash': openai(0.3, 0.03, 2.5),
  'gemini-2.5-flash-lite': openai(0.1, 0.01, 0.4),
  'gemini-3-pro-preview': openai(2, 0.2, 12, OVER_200K),
  'gemini-3-flash-preview': openai(0.5, 0.05, 3),
  'gemini-3.1-pro-preview': openai(2, 0.2, 12, OVER_200K),
  'gemini-3.1-flash-lite': openai(0.25, 0.025, 1.5),
  'gemini-3.5-flash': openai(1.5, 0.15, 9),
  'gemini-3.5-flash-lite': openai(0.3, 0.03, 2.5),
  'gemini-3.6-flash': openai(1.5, 0.15, 7.5),
  'gemini-embedding-001': { input: 0.15, output: 0 },
}

/**
 * Other price lists, as LiteLLM's table had them on 2026-08-08 and genai-prices
 * on 2026-08-21 (cached input of Mistral and Nova from the latter). Open models cost
 * what their host asks, so their names carry the host. Names that move, such as
 * `mistral-large-latest`, are left out, and so is DeepSeek, whose prices depend
 * on the time of day.
 */
const OTHERS: PriceTable = {
  'groq/llama-3.1-8b-instant': { input: 0.05, output: 0.08 },
  'groq/llama-3.3-70b-versatile': { input: 0.59, output: 0.79 },
  'groq/openai/gpt-oss-120b': openai(0.15, 0.075, 0.6),
  'groq/openai/gpt-oss-20b': openai(0.075, 0.0375, 0.3),
  'groq/meta-llama/llama-4-maverick-17b-128e-instruct': { input: 0.2, output: 0.6 },
  'groq/moonshotai/kimi-k2-instruct-0905': openai(1, 0.5, 3),
  'groq/qwen/qwen3-32b': { input: 0.29, output: 0.59 },
  'groq/meta-llama/llama-4-scout-17b-16e-instruct': { input: 0.11, output: 0.34 },
  'mistral-large-2411': { input: 2, output: 6 },
  'mistral-large-2512': openai(0.5, 0.05, 1.5),
  'mistral-small-2603': openai(0.15, 0.015, 0.6),
  'ministral-3b-2512': openai(0.1, 0.01, 0.1),
  'ministral-8b-2512': { input: 0.15, output: 0.15 },
  'ministral-14b-2512': openai(0.2, 0.02, 0.2),
  'mistral-medium-2505': { input: 0.4, output: 2 },
  'mistral-medium-2508': { input: 0.4, output: 2 },
  'mistral-medium-2604': { input: 1.5, output: 7.5 },
  'magistral-medium-2509': { input: 2, output: 5 },
  'codestral-2508': openai(0.3, 0.03, 0.9),
  'devstral-2512': openai(0.4, 0.04, 2),
  'mistral-embed': { input: 0.1, output: 0 },
  'grok-3': openai(3, 0.75, 15),
  'grok-3-mini': openai(0.3, 0.075, 0.5),
  'grok-4-fast-reasoning': openai(0.2, 0.05, 0.5, long(128_000, 2, 2)),
  'grok-4-fast-non-reasoning': openai(0.2, 0.05, 0.5, long(128_000, 2, 2)),
  'grok-4-1-fast-reasoning': openai(0.2, 0.05, 0.5, long(128_000, 2, 2)),
  'grok-4-1-fast-non-reasoning': openai(0.2, 0.05, 0.5, long(128_000, 2, 2)),
  'grok-4.3': openai(1.25, 0.2, 2.5, long(200_000, 2, 2)),
  'grok-4.5': openai(2, 0.5, 6, long(200_000, 2, 2)),
  'grok-code-fast-1': openai(0.2, 0.02, 1.5),
  'amazon.nova-micro': openai(0.035, 0.00875, 0.14),
  'amazon.nova-lite': openai(0.06, 0.015, 0.24),
  'amazon.nova-pro': openai(0.8, 0.2, 3.2),
  'amazon.nova-premier': openai(2.5, 0.625, 12.5),
  'amazon.nova-2-lite': openai(0.3, 0.075, 2.5, REGIONAL),
  'amazon.titan-embed-text-v2:0': { input: 0.02, output: 0 },
  'meta.llama3-1-8b-instruct': { input: 0.22, output: 0.22 },
  'meta.llama3-3-70b-instruct': { input: 0.72, output: 0.72 },
  'meta.llama4-maverick-17b-instruct': { input: 0.24, output: 0.97 },
  'meta.llama4-scout-17b-instruct': { input: 0.17, output: 0.66 },
  'mistral.mistral-large-2407': { input: 3, output: 9 },
  'mistral.mistral-large-3-675b-instruct': { input: 0.5, output: 1.5 },
  'openai.gpt-oss-120b-1': { input: 0.15, output: 0.6 },
  'openai.gpt-oss-20b-1': { input: 0.07, output: 0.3 },
  'qwen.qwen3-32b': { input: 0.15, output: 0.6 },
  'deepseek.r1': { input: 1.35, output: 5.4 },
  'cohere.command-r': { input: 0.5, output: 1.5 },
  'cohere.command-r-plus': { input: 3, output: 15 },
}

/**
 * Public list prices of well-known models, not what any one customer pays.
 * Reasoning is billed as output. A model that is not here has an unknown cost;
 * prices from the user's configuration come first.
 */
export const PRICES: PriceTable = { ...OPENAI, ...ANTHROPIC, ...GOOGLE, ...OTHERS }
