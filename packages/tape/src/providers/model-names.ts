import { bedrockModel, withoutArn } from './bedrock/model-id.js'
import { PROVIDERS } from './find-provider.js'

/**
 * Names under which the price of a model may be listed, the most exact first. An
 * id contains more than the model: its host, its maker, a version, a snapshot.
 */
export interface ModelNames {
  readonly names: readonly string[]
  /** Set if Bedrock runs it; see `BedrockModel`. */
  readonly bedrockRegion?: string
}

/** Routers and gateways put the maker or the host in front. */
const PREFIX = new RegExp(
  `^(?:${PROVIDERS.flatMap(({ modelPrefixes = [] }) => modelPrefixes).join('|')})/`,
)

/** `-2025-08-07`, `-20250929`, `@20250929`, `:20230824-v2`, `-001` or `-latest`: the same model at the same price. */
const SNAPSHOT = /(?:-\d{4}-\d{2}-\d{2}|[-@]\d{8}|:\d{8}-v\d|@default|-latest|-0|-00\d)$/

export const modelNames = (model: string): ModelNames => {
  let id = withoutArn(model).replace(/^(?:.*\/)?publishers\/[^/]+\/models\//, '')
  const names = new Set([model, id])
  while (PREFIX.test(id)) {
    id = id.replace(PREFIX, '')
    names.add(id)
  }
  const hosted = bedrockModel(id)
  if (hosted !== undefined) {
    names.add(hosted.name)
    // Claude is the only one that costs the same wherever it is hosted.
    if (hosted.maker === 'anthropic') names.add(hosted.name.slice('anthropic.'.length))
  }
  const exact = [...names]
  // OpenRouter writes `claude-sonnet-4.5` when asked and `claude-4.5-sonnet` when it answers.
  const dashed = exact.map((name) =>
    name.startsWith('claude-')
      ? name.replace(/(\d)\.(\d)-([a-z]+)/, '$3-$1-$2').replace(/(\d)\.(\d)/, '$1-$2')
      : name,
  )
  const all = new Set([...exact, ...dashed, ...dashed.map((name) => name.replace(SNAPSHOT, ''))])
  return { names: [...all], ...(hosted !== undefined && { bedrockRegion: hosted.region }) }
}
