import { describe, expect, test } from 'vitest'
import { checkAnswer } from './edited-body.js'
import { setPath } from './set-path.js'

const chat = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-5-mini',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } },
          { id: 'call_2', type: 'custom', custom: { name: 'run', input: 'x' } },
        ],
      },
      finish_reason: 'tool_calls',
    },
  ],
  usage: {
    prompt_tokens: 1,
    completion_tokens: 2,
    total_tokens: 3,
    prompt_tokens_details: { cached_tokens: 0 },
  },
}
const response = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output: [
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'x' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] },
    { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
    { type: 'web_search_call', id: 'ws_1' },
  ],
  usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
}
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [
    { type: 'thinking', thinking: 'Hm', signature: 's' },
    { type: 'text', text: 'Hi' },
    { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
  ],
  stop_reason: 'tool_use',
  usage: { input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: null },
}

describe.each([
  [
    'chat completions',
    chat,
    [
      ['choices', undefined, 'choices is missing'],
      ['choices', [], 'choices is empty'],
      ['choices', {}, 'choices is not a list'],
      ['choices.0', 'x', 'choices.0 is not an object'],
      ['choices.0.message', undefined, 'choices.0.message is missing'],
      ['choices.0.message.role', 'user', 'choices.0.message.role is "user"; it can be "assistant"'],
      ['choices.0.message.content', 7, 'choices.0.message.content is not a string'],
      [
        'choices.0.message.tool_calls',
        [],
        'choices.0.finish_reason is "tool_calls", but the message has none',
      ],
      [
        'choices.0.message.tool_calls.0.function.arguments',
        { id: 1 },
        'choices.0.message.tool_calls.0.function.arguments is not a string; arguments are JSON in a string',
      ],
      [
        'choices.0.message.tool_calls.0.function.arguments',
        '{id:1}',
        'choices.0.message.tool_calls.0.function.arguments does not contain JSON',
      ],
      [
        'choices.0.message.tool_calls.1.custom.input',
        1,
        'choices.0.message.tool_calls.1.custom.input is not a string',
      ],
      ['usage.prompt_tokens', -1, 'usage.prompt_tokens is -1, which is not a count'],
      [
        'usage.prompt_tokens_details.cached_tokens',
        0.5,
        'usage.prompt_tokens_details.cached_tokens is 0.5, which is not a count',
      ],
      ['usage.completion_tokens', undefined, 'usage.completion_tokens is missing'],
    ],
  ],
  [
    'responses',
    response,
    [
      ['output', undefined, 'output is missing'],
      [
        'status',
        'done',
        'status is "done"; it can be "completed", "incomplete", "failed", "in_progress", "queued", "cancelled"',
      ],
      ['output.1.role', 'user', 'output.1.role is "user"; it can be "assistant"'],
      ['output.1.content', 'Hi', 'output.1.content is not a list'],
      ['output.1.content.0.text', null, 'output.1.content.0.text is not a string'],
      ['output.2.call_id', undefined, 'output.2.call_id is missing'],
      [
        'output.2.arguments',
        {},
        'output.2.arguments is not a string; arguments are JSON in a string',
      ],
      ['output.3.type', undefined, 'output.3.type is missing'],
      ['usage.input_tokens', -2, 'usage.input_tokens is -2, which is not a count'],
    ],
  ],
  [
    'messages',
    message,
    [
      ['role', 'user', 'role is "user"; it can be "assistant"'],
      ['content', 'Hi', 'content is not a list'],
      ['content.0.signature', undefined, 'content.0.signature is missing'],
      ['content.1.text', 1, 'content.1.text is not a string'],
      ['content.2.input', '{}', 'content.2.input is not an object'],
      ['content.2.id', undefined, 'content.2.id is missing'],
      ['usage', undefined, 'usage is missing'],
      ['usage.output_tokens', -1, 'usage.output_tokens is -1, which is not a count'],
    ],
  ],
] as const)('an answer of %s', (api, valid, mistakes) => {
  test('that is right has no problems', () => {
    expect(checkAnswer(api, valid)).toEqual([])
  })

  test.each(mistakes.map((mistake) => [...mistake]))(
    'with %s set to %j is rejected',
    (path, value, problem) => {
      expect(checkAnswer(api, setPath(valid, path, value))).toContain(problem)
    },
  )

  test.each([undefined, null, 'text', 1, []])('is not %j', (value) => {
    expect(checkAnswer(api, value)).toHaveLength(1)
  })
})

test('an unknown stop reason is named with the valid ones', () => {
  const [problem] = checkAnswer('messages', { ...message, stop_reason: 'tired' })
  expect(problem).toContain('stop_reason is "tired"; it can be "end_turn", "max_tokens"')
  expect(checkAnswer('messages', { ...message, content: [] })).toEqual([
    'stop_reason is "tool_use", but no block is one',
  ])
})

test('an unknown API has no rules', () => {
  expect(checkAnswer('http', 'anything')).toEqual([])
})
