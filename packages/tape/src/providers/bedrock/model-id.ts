export interface BedrockModel {
  /** `anthropic.claude-sonnet-4-5-20250929`. */
  readonly name: string
  readonly maker: string
  /** `global`, a part of the world, or `here` for the region of the endpoint. */
  readonly region: string
}

/** `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, and the same without its region or version. */
const BEDROCK =
  /^(?:(us|eu|apac|jp|au|ca|global)\.)?((anthropic|amazon|meta|mistral|cohere|ai21|deepseek|openai|qwen|writer)\.[a-z0-9.-]+?)(?:-v\d+)?(?::\d+){0,2}$/

/** An ARN names the model only when it is that of a model or of a profile of AWS. */
const ARN = /^arn:aws[a-z-]*:bedrock:[^/]*:(?:inference-profile|foundation-model)\/(.+)$/

/** The id of a model inside an ARN; other ids as they are. */
export const withoutArn = (id: string): string => ARN.exec(id)?.[1] ?? id

export const bedrockModel = (id: string): BedrockModel | undefined => {
  const [, region = 'here', name, maker] = BEDROCK.exec(id) ?? []
  return name === undefined || maker === undefined ? undefined : { name, maker, region }
}
