import { expect, test } from 'vitest'
import { modelVariables } from './model-variables.js'

const found = (env: Record<string, string>, named: readonly string[] = []) => {
  const { names, endpoints } = modelVariables(env, new Set(named))
  return {
    names: [...names].toSorted(),
    endpoints: endpoints.map(({ host, port }) => `${host}:${port}`),
  }
}

const KEY = 'made-up-value-for-a-test-4711'

test('the address of a known provider is taken from its variable, with its key and no other', () => {
  expect(
    found({
      GROQ_BASE_URL: 'https://models.example/v1',
      GROQ_API_KEY: KEY,
      OPENAI_API_KEY: KEY,
      OTHER_URL: 'http://other.example',
    }),
  ).toEqual({ names: ['GROQ_API_KEY', 'GROQ_BASE_URL'], endpoints: ['models.example:443'] })
})

test('a value that is no http address is not an address of a model', () => {
  const env = { OPENAI_BASE_URL: 'models.example', STORE: 'redis://store.example:6379' }
  expect(found({ ...env, OPENAI_API_KEY: KEY }, ['STORE'])).toEqual({ names: [], endpoints: [] })
})

test('an address that the code names comes with keys that it names and that belong to it', () => {
  const env = { LLM_URL: 'http://[::1]:8080', LLM_KEY: KEY, MAIL_KEY: KEY, LLM_OTHER_KEY: KEY }
  expect(found(env, ['LLM_URL', 'LLM_KEY', 'MAIL_KEY'])).toEqual({
    names: ['LLM_KEY', 'LLM_URL'],
    endpoints: ['::1:8080'],
  })
})
