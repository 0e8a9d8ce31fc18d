import { expect, test } from 'vitest'
import { messagesApi } from './anthropic/messages.js'
import { bedrockConverse } from './bedrock/converse.js'
import { bedrockInvoke } from './bedrock/invoke.js'
import { gemini } from './google/gemini.js'
import { toolCallsIn } from './specification/message.js'
import { openaiChat } from './openai/chat.js'
import { openaiResponses } from './openai/responses.js'
import type { ProviderRequest } from './specification/provider.js'

/** Behaviour that public recordings of real answers show, but documentation does not mention. */

const requestTo = (url: string): ProviderRequest => ({
  method: 'POST',
  url: new URL(url),
  headers: [],
  mentions: () => true,
  json: () => ({}),
})

const sse = (...values: readonly object[]) => ({
  status: 200,
  events: values.map((value) => ({ event: 'message', data: JSON.stringify(value), at: 0 })),
})

const chat = (message: object, usage?: object) => ({
  status: 200,
  json: { model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }], usage },
})

test('empty fields of a message are not calls', () => {
  const empty = { name: '', arguments: '' }
  const filled = { role: 'assistant', content: 'Hi', refusal: '', function_call: empty }
  const answer = { ...chat(filled).json, service_tier: '', usage: counts(1, 2, 3) }
  const { messages, usage } = openaiChat.decodeResponse({ status: 200, json: answer })
  expect(messages).toEqual([{ role: 'assistant', parts: [{ type: 'text', text: 'Hi' }] }])
  expect(usage?.unpriced).toEqual([])
})

test('a call with an empty custom tool beside its function is one of the function', () => {
  const call = {
    id: 'c1',
    type: 'function',
    custom: { name: '', input: '' },
    function: { name: 'lookup', arguments: '{"id":1}' },
  }
  const { messages } = openaiChat.decodeResponse(chat({ content: null, tool_calls: [call] }))
  expect(toolCallsIn(messages)).toEqual([
    { type: 'tool_call', id: 'c1', name: 'lookup', args: { id: 1 } },
  ])
})

const counts = (input: number, output: number, total: number): object => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: total,
})

test('thoughts that Google counts only in the total are output, for Google alone', () => {
  const answer = chat({ content: 'Hi' }, counts(35, 12, 109))
  const google = requestTo(
    'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions',
  )
  expect(openaiChat.decodeResponse(answer, google).usage).toMatchObject({
    input: 35,
    output: 74,
    reasoning: 62,
  })
  const other = requestTo('https://api.openai.com/v1/chat/completions')
  expect(openaiChat.decodeResponse(answer, other).usage).toMatchObject({
    output: 12,
    mismatch: 'a total of 109 where input and output make 47',
  })
})

test('numeric enum values are read as their names', () => {
  const audio = [{ modality: 4, tokenCount: 3 }]
  const json = {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 2 }],
    usageMetadata: { promptTokenCount: 3, totalTokenCount: 3, promptTokensDetails: audio },
  }
  const { finishReason, usage } = gemini.decodeResponse({ status: 200, json })
  expect([finishReason, usage?.unpriced]).toEqual(['MAX_TOKENS', ['audio tokens']])
})

test('counts that restart after a Google tool are those of the last chunk', () => {
  const counted = (
    prompt: number,
    candidates: number | undefined,
    thoughts: number,
    total: number,
  ) => ({
    candidates: [{ content: { parts: [{ text: 'x' }], role: 'model' } }],
    usageMetadata: {
      promptTokenCount: prompt,
      candidatesTokenCount: candidates,
      thoughtsTokenCount: thoughts,
      totalTokenCount: total,
    },
  })
  const { usage } = gemini.decodeResponse(
    sse(counted(9, 15, 78, 102), counted(9, 21, 35, 65), counted(87, undefined, 78, 165)),
  )
  expect(usage).toMatchObject({ input: 87, output: 78, reasoning: 78 })
  expect(usage).not.toHaveProperty('mismatch')
})

test('arguments that Vertex streams in pieces may be nested, and may be nonsense', () => {
  const call = (functionCall: object) => ({
    candidates: [{ content: { parts: [{ functionCall }], role: 'model' } }],
  })
  const piece = (...partialArgs: readonly object[]) => call({ partialArgs, willContinue: true })
  const { messages } = gemini.decodeResponse(
    sse(
      call({ name: 'cook', willContinue: true }),
      piece({ jsonPath: '$.stops[0].city', stringValue: 'O', willContinue: true }),
      piece(
        { jsonPath: '$.stops[0].city', stringValue: 'slo' },
        { jsonPath: '$.days', numberValue: 2 },
      ),
      piece(
        { jsonPath: '$.stops[1].isLast', boolValue: true },
        { jsonPath: '$.note', nullValue: null },
      ),
      piece(
        { jsonPath: '$.__proto__.x', numberValue: 1 },
        { jsonPath: '$.far[99999999]', numberValue: 1 },
      ),
      piece({ jsonPath: '', stringValue: 'x' }, { jsonPath: 7 }),
      call({}),
      call({ name: 'rest', args: {} }),
    ),
  )
  expect(toolCallsIn(messages).map(({ name, args }) => [name, args])).toEqual([
    ['cook', { stops: [{ city: 'Oslo' }, { isLast: true }], days: 2, note: null }],
    ['rest', {}],
  ])
})

const claudeUsage = (more: object): object => ({
  type: 'message',
  model: 'claude-sonnet-5',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 100, output_tokens: 10, ...more },
})

test('requests to another model beside the answer have no known cost', () => {
  const rounds = [
    { type: 'message', input_tokens: 100, output_tokens: 10 },
    { type: 'advisor_message', model: 'claude-opus-5', input_tokens: 900, output_tokens: 80 },
  ]
  const json = claudeUsage({ iterations: rounds })
  const { usage } = messagesApi.decodeResponse({ status: 200, json })
  expect(usage).toMatchObject({ input: 100, output: 10, unpriced: ['other models'] })
})

test('counts of a Claude stream that writes to the cache late are consistent', () => {
  const first = {
    input_tokens: 2,
    output_tokens: 1,
    cache_creation_input_tokens: 3068,
    cache_creation: { ephemeral_5m_input_tokens: 3068, ephemeral_1h_input_tokens: 0 },
  }
  const { usage } = messagesApi.decodeResponse(
    sse(
      { type: 'message_start', message: { model: 'claude-sonnet-5', usage: first } },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { input_tokens: 6, output_tokens: 198, cache_creation_input_tokens: 3337 },
      },
    ),
  )
  expect(usage).toMatchObject({ input: 6, cacheWrite: 3337, cacheWriteLong: 0, output: 198 })
  expect(usage).not.toHaveProperty('mismatch')
})

test('tools that a provider runs are not calls to be answered, and are billed beside tokens', () => {
  const ran = { toolUseId: 't1', name: 'nova_code_interpreter', input: {}, type: 'server_tool_use' }
  const result = { toolUseId: 't1', type: 'nova_code_interpreter_result', content: [{ json: {} }] }
  const asked = { toolUseId: 't2', name: 'lookup', input: { id: 1 }, type: 'tool_use' }
  const content = [{ toolUse: ran }, { toolResult: result }, { toolUse: asked }]
  const { messages, usage } = bedrockConverse.decodeResponse({
    status: 200,
    json: {
      output: { message: { role: 'assistant', content } },
      stopReason: 'tool_use',
      usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
    },
  })
  expect(toolCallsIn(messages).map(({ id }) => id)).toEqual(['t2'])
  expect(usage?.unpriced).toEqual(['tools run by the provider'])
  const code = [{ type: 'server_tool_use', id: 's1', name: 'bash_code_execution', input: {} }]
  const claude = { ...claudeUsage({}), content: code }
  expect(messagesApi.decodeResponse({ status: 200, json: claude }).usage?.unpriced).toEqual([
    'code execution',
  ])
})

test('shells and patches are calls when the client runs them', () => {
  const shell = { type: 'shell_call', call_id: 'c1', action: { commands: ['ls'] } }
  const hosted = { ...shell, environment: { type: 'container_reference', container_id: 'x' } }
  const patch = { type: 'apply_patch_call', call_id: 'c2', operation: { type: 'delete_file' } }
  const decode = (...output: readonly object[]) =>
    openaiResponses.decodeResponse({
      status: 200,
      json: { status: 'completed', output, usage: { input_tokens: 1, output_tokens: 1 } },
    })
  expect(toolCallsIn(decode(shell, patch).messages)).toEqual([
    { type: 'tool_call', id: 'c1', name: 'shell', args: { commands: ['ls'] } },
    { type: 'tool_call', id: 'c2', name: 'apply_patch', args: { type: 'delete_file' } },
  ])
  expect(decode(shell, patch).usage?.unpriced).toEqual([])
  expect(toolCallsIn(decode(hosted).messages)).toEqual([])
  expect(decode(hosted).usage?.unpriced).toEqual(['shell_call'])
})

test('completions of old Claude models on Bedrock are decoded', () => {
  const json = { completion: ' Hello.', stop_reason: 'stop_sequence', stop: '\n\nHuman:' }
  const { messages, finishReason } = bedrockInvoke.decodeResponse({ status: 200, json })
  expect(messages).toEqual([{ role: 'assistant', parts: [{ type: 'text', text: ' Hello.' }] }])
  expect(finishReason).toBe('stop_sequence')
})
