import { OPENAI_PATHS, openaiDialect } from '../specification/chat-dialect.js'
import { XAI_PRICES } from './prices.js'
import { defined } from '../../format/values/json-shape.js'
import type { Provider, ProviderAddress } from '../specification/provider.js'

/** A server with a route named after it. Speaks OpenAI's APIs unless it has other paths. */
const openaiServer = (
  name: string,
  { hosts, prices, modelPrefixes, ...address }: Partial<ProviderAddress & Provider>,
): Provider => ({
  name,
  ...defined({ hosts, prices, modelPrefixes }),
  address: { route: name, paths: OPENAI_PATHS, ...address },
})

/**
 * Servers that speak the APIs of other providers, mostly OpenAI's, and need no code. DeepSeek's
 * prices depend on the time of day and are not listed.
 */
export const COMPATIBLE: readonly Provider[] = [
  {
    name: 'azure',
    hosts: /(^|\.)(openai|cognitiveservices|services\.ai|inference\.ai)\.azure\.com$/,
    isServer: ({ pathname }) => /\/openai\/deployments\/[^/]+\//.test(pathname),
    isClient: ({ path, headers }) => path.includes('/openai/deployments/') || 'api-key' in headers,
    address: {
      route: 'azure',
      whenSet: ['AZURE_OPENAI_ENDPOINT', 'AZURE_API_BASE'],
      paths: /^\/openai\/(deployments|v1)\//,
      keys: ['AZURE_OPENAI_API_KEY'],
      testVariables: { OPENAI_API_VERSION: '2025-04-01-preview' },
    },
    modelPrefixes: ['azure'],
    dialect: { ...openaiDialect, head: { system_fingerprint: 'fp_scripted' } },
  },
  openaiServer('openrouter', {
    hosts: /(^|\.)openrouter\.ai$/,
    base: 'https://openrouter.ai/api/v1',
    variables: ['OPENROUTER_BASE_URL', 'OPENROUTER_API_BASE'],
    keys: ['OPENROUTER_API_KEY'],
    modelPrefixes: ['openrouter'],
  }),
  openaiServer('deepseek', {
    hosts: /(^|\.)deepseek\.com$/,
    base: 'https://api.deepseek.com/v1',
    whenSet: ['DEEPSEEK_BASE_URL', 'DEEPSEEK_API_BASE'],
    modelPrefixes: ['deepseek'],
  }),
  openaiServer('xai', {
    hosts: /(^|\.)x\.ai$/,
    base: 'https://api.x.ai/v1',
    whenSet: ['XAI_BASE_URL', 'XAI_API_BASE'],
    prices: XAI_PRICES,
    modelPrefixes: ['x-ai', 'xai'],
  }),
  openaiServer('cohere', {
    base: 'https://api.cohere.com',
    variables: ['CO_API_URL'],
    paths: /^\/v[12]\/(chat|rerank|embed|generate)$/,
  }),
  openaiServer('together', {
    hosts: /(^|\.)together\.(xyz|ai)$/,
    base: 'https://api.together.xyz/v1',
    variables: ['TOGETHER_BASE_URL'],
    whenSet: ['TOGETHER_AI_API_BASE'],
  }),
  { name: 'fireworks', hosts: /(^|\.)fireworks\.ai$/ },
  { name: 'cerebras', hosts: /(^|\.)cerebras\.ai$/ },
  openaiServer('vllm', { whenSet: ['VLLM_BASE_URL', 'HOSTED_VLLM_API_BASE'] }),
  openaiServer('litellm', {
    whenSet: ['LITELLM_PROXY_API_BASE'],
    modelPrefixes: ['litellm_proxy'],
  }),
]
