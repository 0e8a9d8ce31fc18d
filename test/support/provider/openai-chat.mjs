import { split, think } from './model.mjs'

/**
 * `POST …/chat/completions`.
 *
 * @param {any} request The parsed body.
 * @param {import('./dice.mjs').Dice} dice
 * @returns {{ json: object } | { events: string }}
 */
export function answerChat(request, dice) {
  const messages = request.messages ?? []
  const thought = think(
    {
      toolNames: (request.tools ?? []).map((tool) => tool.function.name),
      toolRounds: messages.filter((message) => message.role === 'assistant' && message.tool_calls)
        .length,
      promptLength: JSON.stringify(messages).length,
      toolIdPrefix: 'call_',
    },
    dice,
  )
  const head = {
    id: dice.id('chatcmpl-'),
    created: Math.floor(Date.now() / 1000),
    model: request.model,
    service_tier: 'default',
    system_fingerprint: dice.id('fp_').slice(0, 13),
  }
  const finishReason = thought.toolCalls.length > 0 ? 'tool_calls' : 'stop'
  if (request.stream) return { events: streamChat(request, head, thought, finishReason, dice) }
  const toolCalls = thought.toolCalls.map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }))
  return {
    json: {
      ...head,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: toolCalls.length > 0 ? null : thought.text,
            ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
            refusal: null,
            annotations: [],
          },
          logprobs: null,
          finish_reason: finishReason,
        },
      ],
      usage: usageOf(thought),
    },
  }
}

function streamChat(request, head, thought, finishReason, dice) {
  const withUsage = request.stream_options?.include_usage === true
  const chunk = (delta, finish = null) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(withUsage ? { usage: null } : {}),
  })
  const opening = thought.toolCalls.length > 0 ? { content: null } : { content: '' }
  const chunks = [
    chunk({ role: 'assistant', ...opening, refusal: null }),
    ...thought.words.map((word) => chunk({ content: word })),
    ...thought.toolCalls.flatMap(({ id, name, arguments: text }, index) => [
      chunk({
        tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
      }),
      ...split(text, dice).map((part) =>
        chunk({ tool_calls: [{ index, function: { arguments: part } }] }),
      ),
    ]),
    chunk({}, finishReason),
  ]
  if (withUsage) {
    chunks.push({ ...head, object: 'chat.completion.chunk', choices: [], usage: usageOf(thought) })
  }
  return `${chunks.map((item) => `data: ${JSON.stringify(item)}\n\n`).join('')}data: [DONE]\n\n`
}

function usageOf({ usage }) {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}
