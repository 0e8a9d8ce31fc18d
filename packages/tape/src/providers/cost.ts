import type { Price, PriceTable } from './specification/price.js'
import { PROVIDERS } from './find-provider.js'
import type { Usage } from './specification/usage.js'
import { defined } from '../format/values/json-shape.js'

/**
 * Names under which the price of a model may be listed, most specific first. An id contains more
 * than the model: its host, its maker, a version, a snapshot.
 */
interface ModelNames {
  readonly names: readonly string[]
  /** Set if Bedrock runs it; see `BedrockModel`. */
  readonly bedrockRegion?: string
}

/** `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, and the same without its region or version. */
const BEDROCK =
  /^(?:(us|eu|apac|jp|au|ca|global)\.)?((anthropic|amazon|meta|mistral|cohere|ai21|deepseek|openai|qwen|writer)\.[a-z0-9.-]+?)(?:-v\d+)?(?::\d+){0,2}$/

/** An ARN names the model only if it is the ARN of a model or of an AWS profile. */
const ARN = /^arn:aws[a-z-]*:bedrock:[^/]*:(?:inference-profile|foundation-model)\/(.+)$/

/** Routers and gateways prefix the maker or the host. */
const PREFIX = new RegExp(
  `^(?:${PROVIDERS.flatMap(({ modelPrefixes = [] }) => modelPrefixes).join('|')})/`,
)

/** `-2025-08-07`, `-20250929`, `@20250929`, `:20230824-v2`, `-001` or `-latest`: the same model at the same price. */
const SNAPSHOT = /(?:-\d{4}-\d{2}-\d{2}|[-@]\d{8}|:\d{8}-v\d|@default|-latest|-0|-00\d)$/

const modelNames = (model: string): ModelNames => {
  let id = (ARN.exec(model)?.[1] ?? model).replace(/^(?:.*\/)?publishers\/[^/]+\/models\//, '')
  const names = new Set([model, id])
  while (PREFIX.test(id)) {
    id = id.replace(PREFIX, '')
    names.add(id)
  }
  const [, region = 'here', name, maker] = BEDROCK.exec(id) ?? []
  const hosted = name === undefined || maker === undefined ? undefined : { name, maker, region }
  if (hosted !== undefined) {
    names.add(hosted.name)
    // Only Claude costs the same wherever it is hosted.
    if (hosted.maker === 'anthropic') names.add(hosted.name.slice('anthropic.'.length))
  }
  const exact = [...names]
  // OpenRouter writes `claude-sonnet-4.5` in requests and `claude-4.5-sonnet` in answers.
  const dashed = exact.map((name) =>
    name.startsWith('claude-')
      ? name.replace(/(\d)\.(\d)-([a-z]+)/, '$3-$1-$2').replace(/(\d)\.(\d)/, '$1-$2')
      : name,
  )
  const all = new Set([...exact, ...dashed, ...dashed.map((name) => name.replace(SNAPSHOT, ''))])
  return defined({ names: [...all], bedrockRegion: hosted?.region })
}

/**
 * Date of the oldest source. Providers change prices without notice, so override prices that must
 * be right.
 */
export const PRICES_AS_OF = '2026-08'

/**
 * Public list prices of well-known models, not those of any one customer. Reasoning is billed as
 * output. The cost of a model that is not listed is unknown. Prices from the user's configuration
 * take precedence.
 */
export const PRICES: PriceTable = Object.fromEntries(
  PROVIDERS.flatMap(({ prices = {} }) => Object.entries(prices)),
)

/** The user's price of a model, under its full id or any shorter name. */
export const findOverride = (
  model: string,
  overrides: PriceTable,
  provider?: string,
): Price | undefined => lookUp(overrides, modelNames(model).names, provider)

/** The price of a model; `undefined` if unknown. */
export const findPrice = (
  model: string,
  overrides: PriceTable = {},
  provider?: string,
): Price | undefined => {
  const override = findOverride(model, overrides, provider)
  if (override !== undefined) return override
  const { names, bedrockRegion } = modelNames(model)
  const listed = lookUp(PRICES, names, provider)
  if (listed?.regionalFactor === undefined || bedrockRegion === undefined) return listed
  if (bedrockRegion === 'global') return listed
  // Sources disagree on whether the region of the endpoint costs more.
  return bedrockRegion === 'here'
    ? undefined
    : scale(listed, listed.regionalFactor, listed.regionalFactor)
}

const lookUp = (
  table: PriceTable,
  names: readonly string[],
  provider: string | undefined,
): Price | undefined => {
  const keys =
    provider === undefined ? names : names.flatMap((name) => [`${provider}/${name}`, name])
  const key = keys.find((name) => Object.hasOwn(table, name))
  return key === undefined ? undefined : table[key]
}

const scale = (price: Price, factor: number, outputFactor: number): Price => {
  const { input, cachedInput, cacheWrite, cacheWriteLong, output, reasoning } = price
  const times = (each: number | undefined, by = factor): number | undefined => each && each * by
  return {
    ...price,
    input: input * factor,
    output: output * outputFactor,
    ...defined({
      cachedInput: times(cachedInput),
      cacheWrite: times(cacheWrite),
      cacheWriteLong: times(cacheWriteLong),
      reasoning: times(reasoning, outputFactor),
    }),
  }
}

/** Cost of an exchange; `undefined` if the price of any part is unknown. Never a guess. */
export const costUsd = (
  model: string,
  usage: Usage,
  overrides?: PriceTable,
  provider?: string,
): number | undefined => {
  const found = findPrice(model, overrides, provider)
  if (found === undefined || usage.unpriced.length > 0) return undefined
  // Inconsistent counts cannot be billed.
  if (usage.mismatch !== undefined) return undefined
  const { input, cachedInput, cacheWrite, cacheWriteLong, output } = usage
  const allInput = input + cachedInput + cacheWrite
  const { longInput } = found
  const price =
    longInput === undefined || allInput <= longInput.above
      ? found
      : scale(found, longInput.inputFactor, longInput.outputFactor)
  const reasoning = price.reasoning === undefined ? 0 : usage.reasoning
  const classes: readonly (readonly [tokens: number, price: number | undefined])[] = [
    [input, price.input],
    [cachedInput, price.cachedInput],
    [cacheWrite - cacheWriteLong, price.cacheWrite],
    [cacheWriteLong, price.cacheWriteLong],
    [output - reasoning, price.output],
    [reasoning, price.reasoning],
  ]
  let total = 0
  for (const [tokens, each] of classes) {
    if (tokens === 0) continue
    if (each === undefined) return undefined
    total += tokens * each
  }
  return total / 1_000_000
}
