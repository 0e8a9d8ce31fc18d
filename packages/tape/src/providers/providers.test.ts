import { describe, expect, test } from 'vitest'
import { findApi } from './find-provider.js'
import { messagesApi } from './anthropic/messages.js'
import { openaiChat } from './openai/chat.js'
import { openaiResponses } from './openai/responses.js'
import { toolCallsIn } from './specification/message.js'
import type { ProviderRequest } from './specification/provider.js'
import type { SseEvent } from '../http/sse.js'

const post = (url: string, json: unknown, headers: [string, string][] = []): ProviderRequest => ({
  method: 'POST',
  url: new URL(url),
  headers,
  mentions: (...keys) => keys.every((key) => JSON.stringify(json ?? '').includes(`"${key}":`)),
  json: () => json,
})
const events = (...data: readonly unknown[]): SseEvent[] =>
  data.map((item) => ({
    event: 'message',
    data: typeof item === 'string' ? item : JSON.stringify(item),
    at: 0,
  }))

const CHAT_REQUEST = {
  model: 'gpt-5-mini',
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Where is it?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: 'call_1',
          type: 'function',
          function: { name: 'lookup_order', arguments: '{"id":"1182"}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'shipped' },
  ],
  stream: true,
}
const CHAT_ANSWER = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1760000000,
  model: 'gpt-5-mini-2025-08-07',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [
          {
            id: 'call_a',
            type: 'function',
            function: { name: 'lookup_order', arguments: '{"id":"1182"}' },
          },
          {
            id: 'call_b',
            type: 'function',
            function: { name: 'search_policy', arguments: '{broken' },
          },
        ],
      },
      finish_reason: 'tool_calls',
    },
  ],
  usage: {
    prompt_tokens: 1200,
    completion_tokens: 300,
    total_tokens: 1500,
    prompt_tokens_details: { cached_tokens: 1024, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 256, audio_tokens: 0 },
  },
  service_tier: 'default',
}
const chatChunk = (delta: unknown, finish: string | null = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'gpt-5-mini-2025-08-07',
  choices: [{ index: 0, delta, finish_reason: finish }],
  usage: null,
})

describe('chat completions', () => {
  test('a request becomes messages in one shape', () => {
    const decoded = openaiChat.decodeRequest(
      post('http://127.0.0.1:4010/v1/chat/completions', CHAT_REQUEST),
    )
    expect(decoded.model).toBe('gpt-5-mini')
    expect(decoded.stream).toBe(true)
    expect(decoded.messages).toEqual([
      { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'Where is it?' },
          { type: 'image', source: 'image/png;base64' },
        ],
      },
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 'call_1', name: 'lookup_order', args: { id: '1182' } }],
      },
      { role: 'tool', parts: [{ type: 'tool_result', id: 'call_1', content: 'shipped' }] },
    ])
  })

  test('an answer gives its calls, its reason to stop and its tokens by class', () => {
    const decoded = openaiChat.decodeResponse({ status: 200, json: CHAT_ANSWER })
    expect(toolCallsIn(decoded.messages).map(({ name, args }) => [name, args])).toEqual([
      ['lookup_order', { id: '1182' }],
      ['search_policy', '{broken'],
    ])
    expect(decoded).toMatchObject({ model: 'gpt-5-mini-2025-08-07', finishReason: 'tool_calls' })
    expect(decoded.usage).toEqual({
      input: 176,
      cachedInput: 1024,
      cacheWrite: 0,
      cacheWriteLong: 0,
      output: 300,
      reasoning: 256,
      unpriced: [],
    })
  })

  test('a stream adds up to the same answer', () => {
    const decoded = openaiChat.decodeResponse({
      status: 200,
      events: events(
        chatChunk({ role: 'assistant', content: null }),
        chatChunk({
          tool_calls: [
            {
              index: 0,
              id: 'call_a',
              type: 'function',
              function: { name: 'lookup_order', arguments: '' },
            },
          ],
        }),
        chatChunk({ tool_calls: [{ index: 0, function: { arguments: '{"id":' } }] }),
        chatChunk({
          tool_calls: [
            {
              index: 1,
              id: 'call_b',
              type: 'function',
              function: { name: 'search_policy', arguments: '{bro' },
            },
          ],
        }),
        chatChunk({ tool_calls: [{ index: 0, function: { arguments: '"1182"}' } }] }),
        chatChunk({ tool_calls: [{ index: 1, function: { arguments: 'ken' } }] }),
        chatChunk({}, 'tool_calls'),
        {
          model: 'gpt-5-mini-2025-08-07',
          choices: [],
          usage: CHAT_ANSWER.usage,
          service_tier: 'default',
        },
        '[DONE]',
      ),
    })
    expect(decoded).toEqual(openaiChat.decodeResponse({ status: 200, json: CHAT_ANSWER }))
  })

  test('a truncated text stream keeps what arrived and has no stop reason', () => {
    const decoded = openaiChat.decodeResponse({
      status: 200,
      events: events(
        chatChunk({ role: 'assistant', content: '' }),
        chatChunk({ content: 'Hel' }),
        chatChunk({ content: 'lo' }),
        '{"choi',
      ),
    })
    expect(decoded.messages).toEqual([
      { role: 'assistant', parts: [{ type: 'text', text: 'Hello' }] },
    ])
    expect(decoded.finishReason).toBeUndefined()
    expect(decoded.usage).toBeUndefined()
  })

  test('numbers that do not add up are flagged and kept', () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 99,
      completion_tokens_details: { reasoning_tokens: 7 },
    }
    const decoded = openaiChat.decodeResponse({ status: 200, json: { ...CHAT_ANSWER, usage } })
    expect(decoded.usage).toMatchObject({ input: 10, output: 5, reasoning: 7 })
    expect(decoded.usage?.mismatch).toBe(
      '7 reasoning of 5 output tokens; a total of 99 where input and output make 15',
    )
  })

  test('an error gives its message', () => {
    const json = {
      error: { message: 'Rate limit reached', type: 'tokens', code: 'rate_limit_exceeded' },
    }
    expect(openaiChat.decodeResponse({ status: 429, json })).toEqual({
      messages: [],
      error: 'Rate limit reached',
    })
    expect(openaiChat.decodeResponse({ status: 200, events: events(json) }).error).toBe(
      'Rate limit reached',
    )
  })

  test('other kinds of billing are named', () => {
    const json = { ...CHAT_ANSWER, service_tier: 'flex' }
    expect(openaiChat.decodeResponse({ status: 200, json }).usage?.unpriced).toEqual([
      'service tier flex',
    ])
  })
})

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  model: 'gpt-5-2025-08-07',
  status: 'completed',
  error: null,
  incomplete_details: null,
  output: [
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Look it up.' }] },
    {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name: 'get_weather',
      arguments: '{"city":"Oslo"}',
      status: 'completed',
    },
  ],
  usage: {
    input_tokens: 50,
    input_tokens_details: { cached_tokens: 32 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 8 },
    total_tokens: 70,
  },
  service_tier: 'default',
}

describe('responses', () => {
  test('items become turns, instructions become the system message', () => {
    const decoded = openaiResponses.decodeRequest(
      post('http://localhost/v1/responses', {
        model: 'gpt-5',
        instructions: 'Be brief.',
        input: [
          { role: 'user', content: 'Weather?' },
          ...RESPONSE.output,
          { type: 'function_call_output', call_id: 'call_1', output: '4 °C' },
          { type: 'web_search_call', id: 'ws_1', status: 'completed' },
        ],
      }),
    )
    expect(
      decoded.messages.map(({ role, parts }) => [role, ...parts.map(({ type }) => type)]),
    ).toEqual([
      ['system', 'text'],
      ['user', 'text'],
      ['assistant', 'reasoning', 'tool_call'],
      ['tool', 'tool_result'],
      ['assistant', 'other'],
    ])
    const text = openaiResponses.decodeRequest(
      post('http://localhost/responses', { model: 'm', input: 'Hi' }),
    )
    expect(text.messages).toEqual([{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }])
  })

  test('an answer gives one turn, and its tokens by class', () => {
    const decoded = openaiResponses.decodeResponse({ status: 200, json: RESPONSE })
    expect(decoded.messages).toEqual([
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'Look it up.' },
          { type: 'tool_call', id: 'call_1', name: 'get_weather', args: { city: 'Oslo' } },
        ],
      },
    ])
    expect(decoded).toMatchObject({ finishReason: 'completed', model: 'gpt-5-2025-08-07' })
    expect(decoded.usage).toMatchObject({ input: 18, cachedInput: 32, output: 20, reasoning: 8 })
    expect(decoded.usage?.mismatch).toBeUndefined()
  })

  const opening = [
    {
      type: 'response.created',
      response: { ...RESPONSE, status: 'in_progress', output: [], usage: null },
    },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { type: 'message', role: 'assistant', content: [] },
    },
    { type: 'response.output_text.delta', output_index: 0, delta: 'It is ' },
    { type: 'response.output_text.delta', output_index: 0, delta: 'cold.' },
    {
      type: 'response.output_item.added',
      output_index: 1,
      item: { type: 'function_call', call_id: 'c', name: 'f', arguments: '' },
    },
    { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"a":1}' },
  ]

  test('a complete stream is its last event', () => {
    const decoded = openaiResponses.decodeResponse({
      status: 200,
      events: events(...opening, { type: 'response.completed', response: RESPONSE }),
    })
    expect(decoded).toEqual(openaiResponses.decodeResponse({ status: 200, json: RESPONSE }))
  })

  test('a stream that breaks off is assembled from its pieces', () => {
    const decoded = openaiResponses.decodeResponse({ status: 200, events: events(...opening) })
    expect(decoded.messages[0]?.parts).toEqual([
      { type: 'text', text: 'It is cold.' },
      { type: 'tool_call', id: 'c', name: 'f', args: { a: 1 } },
    ])
    expect(decoded.finishReason).toBeUndefined()
  })

  test('a failed or cut-short answer says why', () => {
    const failed = {
      type: 'response.failed',
      response: {
        ...RESPONSE,
        status: 'failed',
        output: [],
        error: { code: 'server_error', message: 'It broke' },
      },
    }
    expect(openaiResponses.decodeResponse({ status: 200, events: events(failed) })).toMatchObject({
      error: 'It broke',
      finishReason: 'failed',
    })
    const short = {
      ...RESPONSE,
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    }
    expect(openaiResponses.decodeResponse({ status: 200, json: short }).finishReason).toBe(
      'max_output_tokens',
    )
  })
})

const CLAUDE_ANSWER = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5-20250929',
  content: [
    { type: 'thinking', thinking: 'I should look.', signature: 'sig' },
    { type: 'text', text: 'Looking it up.' },
    { type: 'tool_use', id: 'toolu_1', name: 'lookup_order', input: { id: '1182' } },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: {
    input_tokens: 12,
    cache_creation_input_tokens: 300,
    cache_read_input_tokens: 2000,
    cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
    output_tokens: 40,
    service_tier: 'standard',
  },
}

describe('messages of Anthropic', () => {
  test('a request becomes messages, with results of tools as messages of the tool', () => {
    const decoded = messagesApi.decodeRequest(
      post('https://api.anthropic.com/v1/messages', {
        model: 'claude-sonnet-4-5',
        max_tokens: 1024,
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
        messages: [
          { role: 'user', content: 'Where is it?' },
          { role: 'assistant', content: CLAUDE_ANSWER.content },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'toolu_1',
                content: [{ type: 'text', text: 'no such order' }],
                is_error: true,
              },
              { type: 'text', text: 'Try again.' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            ],
          },
        ],
      }),
    )
    expect(decoded.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'user',
    ])
    expect(decoded.messages[3]?.parts).toEqual([
      { type: 'tool_result', id: 'toolu_1', content: 'no such order', isError: true },
    ])
    expect(decoded.messages[4]?.parts[1]).toEqual({ type: 'image', source: 'image/png' })
  })

  test('an answer gives its parts and its tokens by class', () => {
    const decoded = messagesApi.decodeResponse({ status: 200, json: CLAUDE_ANSWER })
    expect(decoded.messages[0]?.parts.map(({ type }) => type)).toEqual([
      'reasoning',
      'text',
      'tool_call',
    ])
    expect(decoded.finishReason).toBe('tool_use')
    expect(decoded.usage).toEqual({
      input: 12,
      cachedInput: 2000,
      cacheWrite: 300,
      cacheWriteLong: 200,
      output: 40,
      reasoning: 0,
      unpriced: [],
    })
  })

  test('a stream adds up to the same answer', () => {
    const { content, usage, ...rest } = CLAUDE_ANSWER
    const decoded = messagesApi.decodeResponse({
      status: 200,
      events: events(
        {
          type: 'message_start',
          message: {
            ...rest,
            stop_reason: null,
            content: [],
            usage: { ...usage, output_tokens: 1 },
          },
        },
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'thinking', thinking: '', signature: '' },
        },
        { type: 'ping' },
        {
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'thinking_delta', thinking: 'I should ' },
        },
        {
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'thinking_delta', thinking: 'look.' },
        },
        {
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'signature_delta', signature: 'sig' },
        },
        { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
        {
          type: 'content_block_delta',
          index: 1,
          delta: { type: 'text_delta', text: 'Looking it up.' },
        },
        {
          type: 'content_block_start',
          index: 2,
          content_block: { type: 'tool_use', id: 'toolu_1', name: 'lookup_order', input: {} },
        },
        {
          type: 'content_block_delta',
          index: 2,
          delta: { type: 'input_json_delta', partial_json: '' },
        },
        {
          type: 'content_block_delta',
          index: 2,
          delta: { type: 'input_json_delta', partial_json: '{"id": "11' },
        },
        {
          type: 'content_block_delta',
          index: 2,
          delta: { type: 'input_json_delta', partial_json: '82"}' },
        },
        { type: 'content_block_stop', index: 2 },
        {
          type: 'message_delta',
          delta: { stop_reason: 'tool_use', stop_sequence: null },
          usage: { output_tokens: 40, input_tokens: null },
        },
        { type: 'message_stop' },
      ),
    })
    expect(decoded).toEqual(messagesApi.decodeResponse({ status: 200, json: CLAUDE_ANSWER }))
    expect(content).toHaveLength(3)
  })

  test('errors give their message, in a stream too', () => {
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    expect(messagesApi.decodeResponse({ status: 529, json: overloaded }).error).toBe('Overloaded')
    expect(messagesApi.decodeResponse({ status: 200, events: events(overloaded) }).error).toBe(
      'Overloaded',
    )
  })

  test('cache parts that do not add up are flagged', () => {
    const usage = { ...CLAUDE_ANSWER.usage, cache_creation_input_tokens: 5 }
    expect(
      messagesApi.decodeResponse({ status: 200, json: { ...CLAUDE_ANSWER, usage } }).usage
        ?.mismatch,
    ).toBe('5 cache writes where the parts make 300')
  })
})

describe('findApi', () => {
  const chat = { model: 'm', messages: [] }
  const messages = { model: 'm', max_tokens: 9, messages: [] }
  test.each([
    ['http://127.0.0.1:4010/v1/chat/completions', chat, 'chat completions'],
    [
      'https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1',
      chat,
      'chat completions',
    ],
    ['https://shop.test/chat/completions', { text: 'hi' }, 'http'],
    ['http://127.0.0.1:4010/v1/responses', { model: 'm', input: 'hi' }, 'responses'],
    ['https://forms.test/forms/7/responses', { answers: [] }, 'http'],
    ['http://127.0.0.1:4010/v1/messages', messages, 'messages'],
    ['https://mail.test/v3/box/messages', { to: 'a@b.test' }, 'http'],
    ['https://chat.test/messages', { messages: ['hi'] }, 'http'],
    [
      'https://r.test/v1/publishers/anthropic/models/claude-x:streamRawPredict',
      { anthropic_version: 'v', ...messages },
      'messages',
    ],
    ['https://shop.test/orders', undefined, 'http'],
  ])('knows %s by its path and shape', (url, json, api) => {
    expect(findApi(post(url, json)).api).toBe(api)
  })

  test('does not read the body where the path and headers are enough', () => {
    const unread = (url: string, headers: [string, string][] = []): ProviderRequest => ({
      ...post(url, undefined, headers),
      mentions: () => {
        throw new Error('the body was read')
      },
    })
    expect(findApi(unread('https://api.openai.com/v1/responses')).api).toBe('responses')
    expect(
      findApi(unread('http://127.0.0.1/v1/messages', [['anthropic-version', '2023-06-01']]))
        .provider,
    ).toBe('anthropic')
    expect(findApi(unread('https://shop.test/orders')).provider).toBe('http')
  })

  test('decoders take any JSON without throwing', () => {
    for (const json of [
      null,
      7,
      'x',
      [],
      { choices: 1 },
      { choices: [null, { message: 3 }] },
      { output: [{}] },
      { content: [{ type: 9 }] },
    ]) {
      for (const provider of [openaiChat, openaiResponses, messagesApi]) {
        expect(() => provider.decodeResponse({ status: 200, json })).not.toThrow()
        expect(() => provider.decodeRequest(post('http://a.test/', json))).not.toThrow()
        expect(() =>
          provider.decodeResponse({ status: 200, events: events(JSON.stringify(json), 'no json') }),
        ).not.toThrow()
      }
    }
  })
})
