import { KNOWN_PROVIDERS } from '../proxy/known-providers.js'
import { redirectVariables } from '../proxy/base-url-variables.js'

/** For providers without one public address: only the path of it is used. */
const EVERYWHERE = 'https://anywhere.invalid'

/** Where each provider's clients look for a key. Made up: no server ever gets to see a real one. */
const KEYS = [
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'GEMINI_API_KEY',
  'GROQ_API_KEY',
  'MISTRAL_API_KEY',
  'OPENROUTER_API_KEY',
  'AZURE_OPENAI_API_KEY',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
]

/**
 * Variables that lead the SDKs of all known providers to a server, each below
 * the provider's own path, with keys that open nothing.
 */
export function serverVariables(url: string): Record<string, string> {
  const given = KNOWN_PROVIDERS.flatMap(({ base = EVERYWHERE, variables, whenSet = [] }) =>
    [...variables, ...whenSet].map((variable) => [variable, base] as const),
  )
  const keys = Object.fromEntries(KEYS.map((name) => [name, madeUp(name)]))
  const { variables } = redirectVariables({ ...keys, ...Object.fromEntries(given) })
  return {
    ...Object.fromEntries(Object.entries(variables).map(([name, path]) => [name, url + path])),
    GOOGLE_VERTEX_BASE_URL: `${url}/vertex`,
    ...keys,
    OPENAI_API_VERSION: '2025-04-01-preview',
    AWS_REGION: 'us-east-1',
    AWS_EC2_METADATA_DISABLED: 'true',
    // It would send traces to OpenAI, whatever the base URL.
    OPENAI_AGENTS_DISABLE_TRACING: '1',
  }
}

const madeUp = (name: string): string => `made-up-${name.toLowerCase().replaceAll('_', '-')}`
