/**
 * The providers whose SDKs can be pointed at another address. `variables` are read
 * by the SDKs themselves; each holds a base URL. A provider without `base` has no
 * one public address: it is only routed when a variable says where it is.
 */
export interface KnownProvider {
  readonly name: string
  /** What its SDKs use when no variable is set, path included. */
  readonly base?: string
  readonly variables: readonly string[]
  /** Read by frameworks, each in its own way: redirected only where they are set already. */
  readonly whenSet?: readonly string[]
  /** Paths that only requests in this provider's protocol have. */
  readonly paths: RegExp
}

/** Shared by everybody who is compatible with OpenAI: decides only where one of them is routed. */
const OPENAI_PATHS =
  /^(\/openai)?(\/v\d+)?\/(chat\/completions|responses|completions|embeddings|models|files|images|audio|moderations|batches)(\/|$)/

export const KNOWN_PROVIDERS: readonly KnownProvider[] = [
  {
    name: 'openai',
    base: 'https://api.openai.com/v1',
    variables: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'],
    paths: OPENAI_PATHS,
  },
  {
    name: 'anthropic',
    base: 'https://api.anthropic.com',
    variables: ['ANTHROPIC_BASE_URL'],
    whenSet: ['ANTHROPIC_API_BASE'],
    paths: /^\/v1\/(messages|complete)(\/|$)/,
  },
  {
    name: 'gemini',
    base: 'https://generativelanguage.googleapis.com',
    variables: ['GOOGLE_GEMINI_BASE_URL'],
    whenSet: ['GEMINI_BASE_URL', 'GEMINI_API_BASE'],
    paths: /^\/v1(beta|alpha)?\d*\/(models|tunedModels|cachedContents)\b/,
  },
  {
    name: 'groq',
    base: 'https://api.groq.com',
    variables: ['GROQ_BASE_URL'],
    whenSet: ['GROQ_API_BASE'],
    paths: OPENAI_PATHS,
  },
  {
    name: 'mistral',
    base: 'https://api.mistral.ai',
    variables: [],
    whenSet: ['MISTRAL_BASE_URL', 'MISTRAL_API_BASE', 'MISTRAL_AZURE_API_BASE'],
    paths: OPENAI_PATHS,
  },
  {
    name: 'openrouter',
    base: 'https://openrouter.ai/api/v1',
    variables: ['OPENROUTER_BASE_URL', 'OPENROUTER_API_BASE'],
    paths: OPENAI_PATHS,
  },
  {
    name: 'ollama',
    base: 'http://127.0.0.1:11434',
    variables: ['OLLAMA_HOST'],
    whenSet: ['OLLAMA_BASE_URL', 'OLLAMA_API_BASE'],
    paths: /^\/api\/(chat|generate|embed|embeddings|tags|show)$/,
  },
  {
    name: 'azure',
    variables: [],
    whenSet: ['AZURE_OPENAI_ENDPOINT', 'AZURE_API_BASE'],
    paths: /^\/openai\/(deployments|v1)\//,
  },
  {
    name: 'bedrock',
    variables: [],
    whenSet: ['AWS_ENDPOINT_URL_BEDROCK_RUNTIME'],
    paths: /^\/model\/[^/]+\/(invoke|converse)/,
  },
  {
    name: 'vertex',
    variables: [],
    whenSet: ['GOOGLE_VERTEX_BASE_URL', 'ANTHROPIC_VERTEX_BASE_URL'],
    paths: /^\/v1(beta1)?\/(projects|publishers)\//,
  },
  {
    name: 'cohere',
    base: 'https://api.cohere.com',
    variables: ['CO_API_URL'],
    paths: /^\/v[12]\/(chat|rerank|embed|generate)$/,
  },
  {
    name: 'together',
    base: 'https://api.together.xyz/v1',
    variables: ['TOGETHER_BASE_URL'],
    whenSet: ['TOGETHER_AI_API_BASE'],
    paths: OPENAI_PATHS,
  },
  {
    name: 'deepseek',
    base: 'https://api.deepseek.com/v1',
    variables: [],
    whenSet: ['DEEPSEEK_BASE_URL', 'DEEPSEEK_API_BASE'],
    paths: OPENAI_PATHS,
  },
  {
    name: 'xai',
    base: 'https://api.x.ai/v1',
    variables: [],
    whenSet: ['XAI_BASE_URL', 'XAI_API_BASE'],
    paths: OPENAI_PATHS,
  },
  {
    name: 'vllm',
    variables: [],
    whenSet: ['VLLM_BASE_URL', 'HOSTED_VLLM_API_BASE'],
    paths: OPENAI_PATHS,
  },
  {
    name: 'litellm',
    variables: [],
    whenSet: ['LITELLM_PROXY_API_BASE'],
    paths: OPENAI_PATHS,
  },
]

/** The provider of that name, or the one that is at home on this host. */
export const knownProvider = (name: string, upstream?: string): KnownProvider | undefined =>
  KNOWN_PROVIDERS.find((provider) => provider.name === name) ??
  KNOWN_PROVIDERS.find(
    ({ base }) =>
      base !== undefined && upstream !== undefined && new URL(base).host === new URL(upstream).host,
  )
