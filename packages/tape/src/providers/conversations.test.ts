import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EventScript } from '../../test-support/event-script.js'
import { readRun } from '../read-model/run-view.js'
import { APIS, findApi, unknownHttp } from './find-provider.js'
import type { ModelApi, ProviderRequest } from './specification/provider.js'

const post = (url: string, json: unknown): ProviderRequest => ({
  method: 'POST',
  url: new URL(url),
  headers: [],
  mentions: (...keys) => keys.every((key) => (JSON.stringify(json) ?? '').includes(`"${key}":`)),
  json: () => json,
})
const decode = (url: string, json: unknown) => {
  const request = post(url, json)
  return findApi(request).decodeRequest(request)
}

const GEMINI =
  'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent'
const CONVERSE =
  'https://bedrock-runtime.eu-west-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse'
const OLLAMA = 'http://127.0.0.1:11434/api/chat'

describe('a conversation', () => {
  test('with Gemini has its instruction, pictures, calls and results in one shape', () => {
    const { model, stream, messages } = decode(GEMINI, {
      system_instruction: { parts: { text: 'Be brief.' } },
      contents: [
        {
          role: 'user',
          parts: [{ text: 'Look' }, { inlineData: { mimeType: 'image/png', data: 'A' } }],
        },
        {
          role: 'model',
          parts: [
            { functionCall: { name: 'look', args: { at: 1 } } },
            { functionCall: { name: 'look' } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'look', response: { output: 'a cat' } } },
            { functionResponse: { name: 'look', response: { error: 'too dark' } } },
            { text: 'And now?' },
          ],
        },
        { role: 'model', parts: [{ executableCode: { language: 'PYTHON', code: '1' } }] },
        {
          role: 'function',
          parts: [{ functionResponse: { id: 'f7', name: 'look', response: { a: 1, b: 2 } } }],
        },
      ],
    })
    expect([model, stream]).toEqual(['gemini-2.5-flash', false])
    expect(messages).toEqual([
      { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'Look' },
          { type: 'image', source: 'image/png' },
        ],
      },
      {
        role: 'assistant',
        parts: [
          { type: 'tool_call', id: 'look#1', name: 'look', args: { at: 1 } },
          { type: 'tool_call', id: 'look#2', name: 'look', args: {} },
        ],
      },
      {
        role: 'tool',
        parts: [
          { type: 'tool_result', id: 'look#1', content: 'a cat' },
          { type: 'tool_result', id: 'look#2', content: 'too dark', isError: true },
        ],
      },
      { role: 'user', parts: [{ type: 'text', text: 'And now?' }] },
      {
        role: 'assistant',
        parts: [
          {
            type: 'other',
            kind: 'executableCode',
            value: { executableCode: { language: 'PYTHON', code: '1' } },
          },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool_result', id: 'f7', content: { a: 1, b: 2 } }] },
    ])
  })

  test('with Converse has its system text, pictures, thoughts, calls and results in one shape', () => {
    const { messages } = decode(CONVERSE, {
      system: [{ text: 'Be brief.' }, { cachePoint: { type: 'default' } }],
      messages: [
        {
          role: 'user',
          content: [{ text: 'Look' }, { image: { format: 'png', source: { bytes: 'A' } } }],
        },
        {
          role: 'assistant',
          content: [
            { reasoningContent: { reasoningText: { text: 'Hm.', signature: 's' } } },
            { toolUse: { toolUseId: 't1', name: 'look', input: { at: 1 } } },
          ],
        },
        {
          role: 'user',
          content: [
            { toolResult: { toolUseId: 't1', content: [{ json: { cat: true } }] } },
            { toolResult: { toolUseId: 't2', content: [{ text: 'too dark' }], status: 'error' } },
          ],
        },
      ],
    })
    expect(messages).toEqual([
      { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'Look' },
          { type: 'image', source: 'image/png' },
        ],
      },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'Hm.' },
          { type: 'tool_call', id: 't1', name: 'look', args: { at: 1 } },
        ],
      },
      {
        role: 'tool',
        parts: [
          { type: 'tool_result', id: 't1', content: { cat: true } },
          { type: 'tool_result', id: 't2', content: 'too dark', isError: true },
        ],
      },
    ])
  })

  test('with Ollama streams by default, and numbers its calls', () => {
    const body = {
      model: 'qwen3:8b',
      messages: [
        { role: 'user', content: 'Look', images: ['QQ=='] },
        {
          role: 'assistant',
          content: '',
          thinking: 'Hm.',
          tool_calls: [{ function: { name: 'look', arguments: { at: 1 } } }],
        },
        { role: 'tool', tool_name: 'look', content: 'a cat' },
      ],
    }
    expect(decode(OLLAMA, { ...body, stream: false }).stream).toBe(false)
    const { stream, messages } = decode(OLLAMA, body)
    expect(stream).toBe(true)
    expect(messages).toEqual([
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'Look' },
          { type: 'image', source: 'inline' },
        ],
      },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'Hm.' },
          { type: 'tool_call', id: 'look#1', name: 'look', args: { at: 1 } },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool_result', id: 'look#1', content: 'a cat' }] },
    ])
  })
})

test('calls without ids are paired with their results, round after round', () => {
  const ask = { role: 'user', parts: [{ text: 'Where are they?' }] }
  const calls = (id: string) => ({
    role: 'model',
    parts: [{ functionCall: { name: 'lookup', args: { id } } }],
  })
  const tells = (output: string) => ({
    role: 'user',
    parts: [{ functionResponse: { name: 'lookup', response: { output } } }],
  })
  const answer = (content: object) =>
    JSON.stringify({
      candidates: [{ content, finishReason: 'STOP' }],
      modelVersion: 'gemini-2.5-flash',
    })
  const tape = new EventScript()
  tape.answer(tape.request(GEMINI, { contents: [ask] }), [answer(calls('1'))])
  tape.answer(tape.request(GEMINI, { contents: [ask, calls('1'), tells('shipped')] }), [
    answer(calls('2')),
  ])
  tape.answer(
    tape.request(GEMINI, {
      contents: [ask, calls('1'), tells('shipped'), calls('2'), tells('lost')],
    }),
    [answer({ role: 'model', parts: [{ text: 'One is lost.' }] })],
  )
  const tools = readRun(tape.end()).steps.filter(({ kind }) => kind === 'tool')
  expect(tools.map((step) => [step.title, step.call()?.result])).toEqual([
    ['lookup({"id":"1"})', 'shipped'],
    ['lookup({"id":"2"})', 'lost'],
  ])
})

describe('who answers', () => {
  const chat = { model: 'm', messages: [] }
  test.each([
    ['https://api.openai.com/v1/chat/completions', chat, 'openai'],
    ['http://127.0.0.1:4000/v1/chat/completions', chat, 'openai'],
    ['https://api.groq.com/openai/v1/chat/completions', chat, 'groq'],
    ['https://api.mistral.ai/v1/chat/completions', chat, 'mistral'],
    ['https://openrouter.ai/api/v1/chat/completions', chat, 'openrouter'],
    ['https://openrouter.ai/api/v1/messages', chat, 'openrouter'],
    ['https://notopenrouter.ai/api/v1/chat/completions', chat, 'openai'],
    ['https://api.deepseek.com/chat/completions', chat, 'deepseek'],
    ['https://api.x.ai/v1/chat/completions', chat, 'xai'],
    ['https://s.openai.azure.com/openai/v1/responses', { model: 'm', input: 'hi' }, 'azure'],
    ['https://gate.test/openai/deployments/d/chat/completions?api-version=1', chat, 'azure'],
    ['https://s.services.ai.azure.com/anthropic/v1/messages', chat, 'azure'],
    ['http://localhost:11434/v1/chat/completions', chat, 'ollama'],
    ['http://gpu.test/api/chat', chat, 'ollama'],
    ['https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions', chat, 'bedrock'],
    ['http://127.0.0.1:9/model/amazon.nova-pro-v1:0/converse', chat, 'bedrock'],
    ['http://127.0.0.1:9/model/m/invoke', { prompt: 'hi' }, 'bedrock'],
    ['http://127.0.0.1:9/v1beta/models/g:generateContent', { contents: [] }, 'google'],
    [
      'https://aiplatform.googleapis.com/v1/publishers/google/models/g:generateContent',
      { contents: [] },
      'vertex',
    ],
    ['http://127.0.0.1:9/v1/embeddings', { model: 'm', input: 'hi' }, 'openai'],
    ['https://shop.test/api/chat', { id: 'c', model: 'm', messages: [{ parts: [] }] }, 'http'],
    ['https://shop.test/api/generate', { model: 'm' }, 'http'],
    ['https://shop.test/model/7/invoke', { size: 'xl' }, 'http'],
    ['https://shop.test/models/7:generateContent', { size: 'xl' }, 'http'],
  ])('at %s is recognised by host, path and shape', (url, json, name) => {
    expect(findApi(post(url, json)).provider).toBe(name)
  })
})

describe('charges beside tokens', () => {
  const unpriced = (url: string, json: unknown, answer: unknown): readonly string[] | undefined => {
    const request = post(url, json)
    return findApi(request).decodeResponse({ status: 200, json: answer }, request).usage?.unpriced
  }
  const chat = { model: 'm', messages: [] }
  const claude = { anthropic_version: 'v', messages: [] }
  const counts = { prompt_tokens: 1, completion_tokens: 1 }
  const usage = { input_tokens: 1, output_tokens: 1 }
  const gemini = (more: object, candidate = {}) => ({
    candidates: [candidate],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, ...more },
  })
  const VERTEX =
    'https://x.test/v1/projects/p/locations/us-east5/publishers/anthropic/models/c:rawPredict'
  test.each([
    [
      GEMINI,
      { contents: [] },
      gemini({ promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 1 }] }),
      'audio tokens',
    ],
    [
      GEMINI,
      { contents: [] },
      gemini({ candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1 }] }),
      'image output',
    ],
    [
      GEMINI,
      { contents: [] },
      gemini({}, { groundingMetadata: { webSearchQueries: ['x'] } }),
      'web searches',
    ],
    [
      GEMINI,
      { contents: [] },
      gemini({ trafficType: 'PROVISIONED_THROUGHPUT' }),
      'service tier provisioned_throughput',
    ],
    [
      CONVERSE,
      chat,
      { output: {}, usage: { inputTokens: 1, outputTokens: 1 }, serviceTier: { type: 'flex' } },
      'service tier flex',
    ],
    [
      CONVERSE,
      chat,
      {
        output: {},
        usage: { inputTokens: 1, outputTokens: 1 },
        performanceConfig: { latency: 'optimized' },
      },
      'optimized latency',
    ],
    [
      'https://api.groq.com/openai/v1/chat/completions',
      chat,
      { usage: counts, choices: [{ message: { executed_tools: [{ type: 'search' }] } }] },
      'tools run by the provider',
    ],
    [
      'https://api.anthropic.com/v1/messages',
      chat,
      { usage: { ...usage, speed: 'fast' } },
      'fast mode',
    ],
    [
      'https://api.anthropic.com/v1/messages',
      chat,
      { usage: { ...usage, inference_geo: 'us' } },
      'inference in the US',
    ],
    [VERTEX, claude, { usage }, 'endpoint in us-east5'],
  ])('at %s is named', (url, json, answer, name) => {
    expect(unpriced(url, json, answer)).toEqual([name])
  })
})

test('numbers of Bedrock and Gemini that do not add up are flagged and kept', () => {
  const bedrock = APIS.find(({ api }) => api === 'converse') as ModelApi
  const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 9, cacheReadInputTokens: 3 }
  expect(bedrock.decodeResponse({ status: 200, json: { output: {}, usage } }).usage?.mismatch).toBe(
    'a total of 9 where input and output make 6',
  )
  const gemini = APIS.find(({ api }) => api === 'generate content') as ModelApi
  const usageMetadata = { promptTokenCount: 5, cachedContentTokenCount: 7, totalTokenCount: 5 }
  expect(gemini.decodeResponse({ status: 200, json: { usageMetadata } }).usage).toMatchObject({
    input: 0,
    cachedInput: 7,
    mismatch: '7 cached of 5 input tokens',
  })
})

test('content filters of Azure are in the answer', () => {
  const chat = APIS.find(({ api }) => api === 'chat completions') as ModelApi
  const filter = { violence: { filtered: true, severity: 'high' } }
  const choice = {
    message: { content: '' },
    finish_reason: 'content_filter',
    content_filter_results: filter,
  }
  const { messages } = chat.decodeResponse({ status: 200, json: { choices: [choice] } })
  expect(messages[0]?.parts).toEqual([{ type: 'other', kind: 'content_filter', value: filter }])
})

test('a router that uses the key of its user adds the price of the model to its fee', () => {
  const chat = APIS.find(({ api }) => api === 'chat completions') as ModelApi
  const cost = (usage: object) => chat.decodeResponse({ status: 200, json: { usage } }).costUsd
  expect(cost({ cost: 0.5, is_byok: true, cost_details: { upstream_inference_cost: 2 } })).toBe(2.5)
  expect(cost({ cost: 0.5, is_byok: true })).toBeUndefined()
  expect(cost({ cost: 0 })).toBe(0)
})

test('no decoder throws, whatever the JSON', () => {
  const keys = [
    'candidates',
    'content',
    'parts',
    'usageMetadata',
    'output',
    'message',
    'messages',
    'choices',
    'usage',
    'delta',
    'toolUse',
    'functionCall',
    'tool_calls',
    'results',
    'error',
    'type',
    'data',
  ]
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(null, 0, -1, '', 'x', true, '{"a":', Number.NaN),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...keys), tie('tree'), { maxKeys: 4 }),
    ),
  }))
  fc.assert(
    fc.property(tree, tree, (json, asked) => {
      const request = post('https://x.test/model/m/invoke', asked)
      const event = { event: 'chunk', data: JSON.stringify(json), at: 0 }
      const read = (provider: ModelApi) => [
        provider.decodeRequest(post('https://x.test/a', json)),
        provider.decodeResponse({ status: 200, json }, request),
        provider.decodeResponse({ status: 500, json }),
        provider.decodeResponse({ status: 200, text: JSON.stringify(json) }, request),
        provider.decodeResponse({ status: 200, events: [event, { ...event, data: '{' }] }, request),
      ]
      expect(() => [...APIS, unknownHttp].map(read)).not.toThrow()
    }),
    { numRuns: 400 },
  )
})
