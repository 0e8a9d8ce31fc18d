import { expect, test } from 'vitest'
import { redirectVariables } from './base-url-variables.js'
import { PROVIDERS } from '@retake/tape'
import { findRoute } from './routes.js'

/** The address that an SDK reaches if it appends `path` to its variable. */
function follow(env: Record<string, string>, variable: string, path: string, upstreams = []) {
  const { routes, variables } = redirectVariables(env, upstreams)
  const at = variables[variable]
  return at === undefined ? undefined : findRoute(routes, at + path, '127.0.0.1:4141')?.href
}

test('variables that are not set lead to the public address, base path included', () => {
  expect(follow({}, 'OPENAI_BASE_URL', '/chat/completions')).toBe(
    'https://api.openai.com/v1/chat/completions',
  )
  expect(follow({}, 'ANTHROPIC_BASE_URL', '/v1/messages')).toBe(
    'https://api.anthropic.com/v1/messages',
  )
  expect(follow({}, 'GROQ_BASE_URL', '/openai/v1/chat/completions')).toBe(
    'https://api.groq.com/openai/v1/chat/completions',
  )
  expect(follow({}, 'OLLAMA_HOST', '/api/chat')).toBe('http://127.0.0.1:11434/api/chat')
  expect(follow({}, 'CO_API_URL', '/v2/chat')).toBe('https://api.cohere.com/v2/chat')
  expect(follow({}, 'TOGETHER_BASE_URL', '/chat/completions')).toBe(
    'https://api.together.xyz/v1/chat/completions',
  )
  for (const variable of ['OPENROUTER_BASE_URL', 'OPENROUTER_API_BASE'])
    expect(follow({}, variable, '/chat/completions')).toBe(
      'https://openrouter.ai/api/v1/chat/completions',
    )
})

test('variables that are set keep their targets', () => {
  const env = {
    OPENAI_BASE_URL: 'https://gateway.example/team/v1/',
    OPENAI_API_BASE: 'http://other.example/v1',
    OLLAMA_HOST: 'box:11434',
  }
  expect(follow(env, 'OPENAI_BASE_URL', '/responses')).toBe(
    'https://gateway.example/team/v1/responses',
  )
  expect(follow(env, 'OPENAI_API_BASE', '/responses')).toBe('http://other.example/v1/responses')
  expect(follow(env, 'OLLAMA_HOST', '/api/chat')).toBe('http://box:11434/api/chat')
})

test('variables of frameworks are only redirected where they are set', () => {
  expect(redirectVariables({}).variables).not.toHaveProperty('MISTRAL_BASE_URL')
  expect(redirectVariables({}).variables).not.toHaveProperty('AWS_ENDPOINT_URL_BEDROCK_RUNTIME')
  const env = { MISTRAL_BASE_URL: 'https://api.mistral.ai/v1' }
  expect(follow(env, 'MISTRAL_BASE_URL', '/chat/completions')).toBe(
    'https://api.mistral.ai/v1/chat/completions',
  )
})

test('each reader of a variable keeps its own base path, as it was set', () => {
  const env = {
    GEMINI_API_BASE: 'https://generativelanguage.googleapis.com/v1beta',
    GROQ_API_BASE: 'https://api.groq.com/openai/v1',
    MISTRAL_API_BASE: 'https://api.mistral.ai/v1',
    DEEPSEEK_API_BASE: 'https://api.deepseek.com/beta',
    GOOGLE_VERTEX_BASE_URL: 'https://europe-west1-aiplatform.googleapis.com',
    HOSTED_VLLM_API_BASE: 'http://box.local:8000/v1',
  }
  for (const [variable, base] of Object.entries(env))
    expect(follow(env, variable, '/asked'), variable).toBe(`${base}/asked`)
  expect(Object.keys(redirectVariables({}).variables)).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(GROQ|DEEPSEEK|GEMINI)_API_BASE$/)]),
  )
})

test('a given upstream wins over the variable and the public address', () => {
  const upstreams = [{ name: 'openai', upstream: 'http://127.0.0.1:9999' }]
  const { routes, variables } = redirectVariables({}, upstreams)
  expect(variables['OPENAI_BASE_URL']).toBe('/openai/v1')
  expect(findRoute(routes, '/openai/v1/models', undefined)?.href).toBe(
    'http://127.0.0.1:9999/v1/models',
  )
  const set = redirectVariables({ OPENAI_BASE_URL: 'https://gateway.example/v1' }, upstreams)
  expect(findRoute(set.routes, `${set.variables['OPENAI_BASE_URL']}/models`, undefined)?.href).toBe(
    'http://127.0.0.1:9999/v1/models',
  )
})

test("OpenAI's variable stays unset next to Azure's, because its client refuses both", () => {
  const { variables } = redirectVariables({ AZURE_OPENAI_ENDPOINT: 'https://me.openai.azure.com/' })
  expect(variables).not.toHaveProperty('OPENAI_BASE_URL')
  expect(variables['AZURE_OPENAI_ENDPOINT']).toBe('/azure')
})

test('Bedrock is redirected to the proxy with a bearer token, which needs no signature', () => {
  const env = { AWS_BEARER_TOKEN_BEDROCK: 'token', AWS_REGION: 'eu-west-1' }
  expect(follow(env, 'AWS_ENDPOINT_URL_BEDROCK_RUNTIME', '/model/a.b%3A0/converse')).toBe(
    'https://bedrock-runtime.eu-west-1.amazonaws.com/model/a.b%3A0/converse',
  )
})

test('an upstream without a known SDK gets a variable named after it', () => {
  const acme = { name: 'acme-ai', upstream: 'https://acme.example/llm' }
  const { routes, variables } = redirectVariables({}, [acme])
  expect(variables['ACME_AI_BASE_URL']).toBe('/acme-ai')
  expect(findRoute(routes, '/acme-ai/v1/chat', '127.0.0.1:4141')?.href).toBe(
    'https://acme.example/llm/v1/chat',
  )
})

test('an upstream of a known provider gets no variable besides its own', () => {
  const openai = { name: 'openai', upstream: 'https://gateway.example' }
  const own = Object.keys(redirectVariables({}).variables)
  expect(Object.keys(redirectVariables({}, [openai]).variables)).toEqual(own)
})

test('an alias that is not set follows the one that is set', () => {
  const env = { OPENAI_BASE_URL: 'http://gateway.example/team/v1' }
  for (const variable of ['OPENAI_BASE_URL', 'OPENAI_API_BASE'])
    expect(follow(env, variable, '/chat/completions')).toBe(
      'http://gateway.example/team/v1/chat/completions',
    )
  expect(
    redirectVariables(env).routes.filter(({ name }) => name.startsWith('openai')),
  ).toHaveLength(1)
  expect(follow({ OLLAMA_BASE_URL: 'http://box.example' }, 'OLLAMA_HOST', '/api/chat')).toBe(
    undefined,
  )
})

test('setting one variable of a provider never sends another one of it to a different host', () => {
  for (const { route: name, variables = [], whenSet = [] } of PROVIDERS.flatMap(
    ({ address }) => address ?? [],
  ))
    for (const set of [...variables, ...whenSet]) {
      const env = { [set]: 'https://gateway.example/base' }
      const redirected = redirectVariables(env)
      const own = [...variables, ...whenSet].filter((each) => each in redirected.variables)
      expect(own, `${name}: ${set}`).toContain(set)
      for (const each of own)
        expect(follow(env, each, '/asked'), `${set} is set, ${each} is read`).toBe(
          'https://gateway.example/base/asked',
        )
    }
})
