import { expect, test } from 'vitest'
import { withToolResults } from './tool-results.js'

const plan = { tool: 'get_order', args: { id: 7 }, content: '{"days":60}' }
const bytes = (request: unknown): Uint8Array => Buffer.from(JSON.stringify(request))
const replaced = (request: unknown): unknown => {
  const body = withToolResults(bytes(request), [plan])
  return body && JSON.parse(Buffer.from(body).toString())
}

const called = { name: 'get_order', arguments: '{"id":7}' }

test.each([
  [
    'chat completions',
    {
      messages: [
        { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: called }] },
        { role: 'tool', tool_call_id: 'a', content: 'old' },
      ],
    },
    { role: 'tool', tool_call_id: 'a', content: '{"days":60}' },
  ],
  [
    'responses',
    {
      input: [
        { type: 'function_call', call_id: 'a', ...called },
        { type: 'function_call_output', call_id: 'a', output: 'old' },
      ],
    },
    { type: 'function_call_output', call_id: 'a', output: '{"days":60}' },
  ],
  [
    'messages',
    {
      messages: [
        { content: [{ type: 'tool_use', id: 'a', name: 'get_order', input: { id: 7 } }] },
        { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'old' }] },
      ],
    },
    { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: '{"days":60}' }] },
  ],
  [
    'converse',
    {
      messages: [
        { content: [{ toolUse: { toolUseId: 'a', name: 'get_order', input: { id: 7 } } }] },
        { toolResult: { toolUseId: 'a', content: [{ json: { days: 1 } }] } },
      ],
    },
    { toolResult: { toolUseId: 'a', content: [{ text: '{"days":60}' }] } },
  ],
  [
    'Gemini',
    {
      contents: [
        { role: 'model', parts: [{ functionCall: { name: 'get_order', args: { id: 7 } } }] },
        { functionResponse: { name: 'get_order', response: { days: 1 } } },
      ],
    },
    { functionResponse: { name: 'get_order', response: { days: 60 } } },
  ],
  [
    'Gemini with a wrapped result',
    {
      contents: [
        {
          role: 'model',
          parts: [{ functionCall: { id: 'f1', name: 'get_order', args: { id: 7 } } }],
        },
        { functionResponse: { id: 'f1', name: 'get_order', response: { output: 'old' } } },
      ],
    },
    { functionResponse: { id: 'f1', name: 'get_order', response: { output: { days: 60 } } } },
  ],
  [
    'Ollama',
    {
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ function: { name: 'get_order', arguments: { id: 7 } } }],
        },
        { role: 'tool', tool_name: 'get_order', content: 'old' },
      ],
    },
    { role: 'tool', tool_name: 'get_order', content: '{"days":60}' },
  ],
])(
  'the result of a call is replaced in a request of %s, and nothing else',
  (_, request, result) => {
    const key = Object.keys(request)[0] as keyof typeof request
    const [call] = request[key] as unknown[]
    expect(replaced(request)).toEqual({ [key]: [call, result] })
  },
)

test('calls with other arguments and bodies that are not requests are unchanged', () => {
  const other = { name: 'get_order', arguments: '{"id":8}' }
  const messages = [
    { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: other }] },
    { role: 'tool', tool_call_id: 'a', content: 'old' },
  ]
  expect(replaced({ messages })).toBeUndefined()
  expect(withToolResults(Buffer.from('"tool_call_id" {'), [plan])).toBeUndefined()
  expect(withToolResults(bytes({ messages }), [])).toBeUndefined()
})

test('without ids, the second result of a tool belongs to its second call', () => {
  const call = (id: number) => ({ function: { name: 'get_order', arguments: { id } } })
  const result = (content: string) => ({ role: 'tool', tool_name: 'get_order', content })
  const calls = { role: 'assistant', tool_calls: [call(6), call(7)] }
  expect(replaced({ messages: [calls, result('six'), result('seven')] })).toEqual({
    messages: [calls, result('six'), result('{"days":60}')],
  })
})
