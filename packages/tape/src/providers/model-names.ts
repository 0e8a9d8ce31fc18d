/**
 * Names under which a model's price may stand, the most exact first. An id
 * carries more than the model: who hosts it, who made it, a version, a snapshot.
 */
export interface ModelNames {
  readonly names: readonly string[]
  /** Where Bedrock runs it: `global`, a part of the world, or `here` for the region that is asked. */
  readonly bedrockPlace?: string
}

/** Routers and gateways put the maker or the host in front. */
const PREFIX =
  /^(?:models|openai|anthropic|google|gemini|vertex_ai|azure|bedrock|groq|mistral|mistralai|x-ai|xai|deepseek|openrouter|litellm_proxy)\//

/** `-2025-08-07`, `-20250929`, `@20250929`, `:20230824-v2`, `-001` or `-latest`: the same model at the same price. */
const SNAPSHOT = /(?:-\d{4}-\d{2}-\d{2}|[-@]\d{8}|:\d{8}-v\d|@default|-latest|-0|-00\d)$/

/** `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, and the same without its place or version. */
const BEDROCK =
  /^(?:(us|eu|apac|jp|au|ca|global)\.)?((anthropic|amazon|meta|mistral|cohere|ai21|deepseek|openai|qwen|writer)\.[a-z0-9.-]+?)(?:-v\d+)?(?::\d+){0,2}$/

/** An ARN names the model only when it is that of a model or of a profile of AWS. */
const ARN = /^arn:aws[a-z-]*:bedrock:[^/]*:(?:inference-profile|foundation-model)\/(.+)$/

export const modelNames = (model: string): ModelNames => {
  let id = ARN.exec(model)?.[1] ?? model.replace(/^(?:.*\/)?publishers\/[^/]+\/models\//, '')
  const names = new Set([model, id])
  while (PREFIX.test(id)) {
    id = id.replace(PREFIX, '')
    names.add(id)
  }
  const [, place = 'here', hosted, maker] = BEDROCK.exec(id) ?? []
  if (hosted !== undefined && maker !== undefined) {
    names.add(hosted)
    // Claude is the only one that costs the same wherever it is hosted.
    if (maker === 'anthropic') names.add(hosted.slice(maker.length + 1))
  }
  const exact = [...names]
  // OpenRouter writes `claude-sonnet-4.5` when asked and `claude-4.5-sonnet` when it answers.
  const dashed = exact.map((name) =>
    name.startsWith('claude-')
      ? name.replace(/(\d)\.(\d)-([a-z]+)/, '$3-$1-$2').replace(/(\d)\.(\d)/, '$1-$2')
      : name,
  )
  const all = new Set([...exact, ...dashed, ...dashed.map((name) => name.replace(SNAPSHOT, ''))])
  return { names: [...all], ...(hosted !== undefined && { bedrockPlace: place }) }
}
