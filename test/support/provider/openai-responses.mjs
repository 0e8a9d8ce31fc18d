import { split, think } from './model.mjs'

/**
 * `POST …/responses`.
 *
 * @param {any} request The parsed body.
 * @param {import('./dice.mjs').Dice} dice
 * @returns {{ json: object } | { events: string }}
 */
export function answerResponses(request, dice) {
  const items = Array.isArray(request.input) ? request.input : []
  const thought = think(
    {
      toolNames: (request.tools ?? []).map((tool) => tool.name),
      toolRounds: countRounds(items),
      promptLength: JSON.stringify(request.input ?? '').length,
      toolIdPrefix: 'call_',
    },
    dice,
  )
  const output =
    thought.toolCalls.length > 0
      ? thought.toolCalls.map(({ id, name, arguments: text }) => ({
          id: dice.id('fc_'),
          type: 'function_call',
          status: 'completed',
          arguments: text,
          call_id: id,
          name,
        }))
      : [
          {
            id: dice.id('msg_'),
            type: 'message',
            status: 'completed',
            content: [{ type: 'output_text', annotations: [], logprobs: [], text: thought.text }],
            role: 'assistant',
          },
        ]
  const response = {
    id: dice.id('resp_'),
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'completed',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: null,
    model: request.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: request.previous_response_id ?? null,
    reasoning: { effort: null, summary: null },
    store: true,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: request.tools ?? [],
    top_p: 1,
    truncation: 'disabled',
    usage: {
      input_tokens: thought.usage.input,
      input_tokens_details: { cached_tokens: thought.usage.cached },
      output_tokens: thought.usage.output,
      output_tokens_details: { reasoning_tokens: thought.usage.reasoning },
      total_tokens: thought.usage.input + thought.usage.output,
    },
    user: null,
    metadata: {},
  }
  if (!request.stream) return { json: response }
  return { events: streamResponse(response, thought, dice) }
}

/** Rounds of tool calls: runs of outputs that no other item interrupts. */
function countRounds(items) {
  return items.filter(
    (item, index) =>
      item.type === 'function_call_output' && items[index + 1]?.type !== 'function_call_output',
  ).length
}

function streamResponse(response, thought, dice) {
  const open = { ...response, status: 'in_progress', output: [], usage: null }
  const events = [
    { type: 'response.created', response: open },
    { type: 'response.in_progress', response: open },
    ...response.output.flatMap((item, index) =>
      item.type === 'message'
        ? streamMessage(item, index, thought.words)
        : streamCall(item, index, dice),
    ),
    { type: 'response.completed', response },
  ]
  return events
    .map((event, index) => {
      const data = { type: event.type, sequence_number: index, ...event }
      return `event: ${event.type}\ndata: ${JSON.stringify(data)}\n\n`
    })
    .join('')
}

function streamMessage(item, outputIndex, words) {
  const place = { item_id: item.id, output_index: outputIndex, content_index: 0 }
  const [part] = item.content
  return [
    {
      type: 'response.output_item.added',
      output_index: outputIndex,
      item: { ...item, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    ...words.map((delta) => ({
      type: 'response.output_text.delta',
      ...place,
      delta,
      logprobs: [],
    })),
    { type: 'response.output_text.done', ...place, text: part.text, logprobs: [] },
    { type: 'response.content_part.done', ...place, part },
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ]
}

function streamCall(item, outputIndex, dice) {
  const place = { item_id: item.id, output_index: outputIndex }
  return [
    {
      type: 'response.output_item.added',
      output_index: outputIndex,
      item: { ...item, status: 'in_progress', arguments: '' },
    },
    ...split(item.arguments, dice).map((delta) => ({
      type: 'response.function_call_arguments.delta',
      ...place,
      delta,
    })),
    { type: 'response.function_call_arguments.done', ...place, arguments: item.arguments },
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ]
}
