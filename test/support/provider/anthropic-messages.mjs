import { split, think } from './model.mjs'

/**
 * `POST /v1/messages`.
 *
 * @param {any} request The parsed body.
 * @param {import('./dice.mjs').Dice} dice
 * @returns {{ json: object } | { events: string }}
 */
export function answerMessages(request, dice) {
  const messages = request.messages ?? []
  const thought = think(
    {
      toolNames: (request.tools ?? []).map((tool) => tool.name),
      toolRounds: messages.filter((message) => hasBlock(message, 'tool_result')).length,
      promptLength: JSON.stringify(messages).length,
      toolIdPrefix: 'toolu_',
    },
    dice,
  )
  const content =
    thought.toolCalls.length > 0
      ? [
          { type: 'text', text: 'Let me look that up. ☃' },
          ...thought.toolCalls.map(({ id, name, arguments: text }) => ({
            type: 'tool_use',
            id,
            name,
            input: JSON.parse(text),
          })),
        ]
      : [{ type: 'text', text: thought.text }]
  const message = {
    model: request.model,
    id: dice.id('msg_'),
    type: 'message',
    role: 'assistant',
    content,
    stop_reason: thought.toolCalls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: {
      // Anthropic counts cached input beside, not inside, input_tokens.
      input_tokens: thought.usage.input - thought.usage.cached,
      cache_creation_input_tokens: thought.usage.cacheWrite,
      cache_read_input_tokens: thought.usage.cached,
      cache_creation: {
        ephemeral_5m_input_tokens: thought.usage.cacheWrite,
        ephemeral_1h_input_tokens: 0,
      },
      output_tokens: thought.usage.output,
      service_tier: 'standard',
    },
  }
  return request.stream ? { events: streamMessages(message, thought, dice) } : { json: message }
}

function hasBlock(message, type) {
  return Array.isArray(message.content) && message.content.some((block) => block.type === type)
}

function streamMessages(message, thought, dice) {
  const events = [
    {
      type: 'message_start',
      message: {
        ...message,
        content: [],
        stop_reason: null,
        usage: { ...message.usage, output_tokens: 1 },
      },
    },
    ...message.content.flatMap((block, index) => [
      ...streamBlock(block, index, thought, dice),
      { type: 'content_block_stop', index },
      ...(index === 0 ? [{ type: 'ping' }] : []),
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: message.stop_reason, stop_sequence: null },
      usage: {
        input_tokens: message.usage.input_tokens,
        cache_creation_input_tokens: message.usage.cache_creation_input_tokens,
        cache_read_input_tokens: message.usage.cache_read_input_tokens,
        output_tokens: message.usage.output_tokens,
      },
    },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

function streamBlock(block, index, thought, dice) {
  const delta = (content) => ({ type: 'content_block_delta', index, delta: content })
  if (block.type === 'text') {
    const words = thought.words.length > 0 ? thought.words : [block.text]
    return [
      { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
      ...words.map((text) => delta({ type: 'text_delta', text })),
    ]
  }
  return [
    { type: 'content_block_start', index, content_block: { ...block, input: {} } },
    delta({ type: 'input_json_delta', partial_json: '' }),
    ...split(JSON.stringify(block.input), dice).map((part) =>
      delta({ type: 'input_json_delta', partial_json: part }),
    ),
  ]
}
