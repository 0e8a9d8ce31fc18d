import { sliceWithoutRepeating } from './corpus.mjs'
import { seededRandom } from './random.mjs'

/**
 * What an agent framework does to the conversation before it sends it again:
 * nothing; the time of day in the system prompt; only the last 40 messages;
 * old tool results replaced by a remark.
 *
 * @typedef {'plain' | 'clock' | 'window' | 'cleared'} Variant
 */

/** @type {readonly Variant[]} */
export const variants = ['plain', 'clock', 'window', 'cleared']

const COMPACT_AT_BYTES = 400_000
const WINDOW_MESSAGES = 40
const RESULTS_KEPT = 6
const LONG_OUTPUT_LENGTH = 20_000

/**
 * The steps of a made-up run: a system prompt of 4 KB, tools of 6 KB, messages
 * of 0.3 to 3 KB, 7 % tool results of 20 KB of which 30 % are an earlier one
 * read again with an edit, compaction at 400 KB, and two to four sub-agents
 * with the same prompt and tools, whose steps are interleaved.
 *
 * @param {object} options
 * @param {{ prose: string, source: string }} options.corpus
 * @param {Variant} options.variant
 * @param {number} options.seed
 * @param {number} options.steps
 * @returns {Generator<{ request: string, answer: string, toolResult: string }>}
 */
export function* conversation({ corpus, variant, seed, steps }) {
  const random = seededRandom(seed)
  const between = (low, high) => Math.floor(low + random() * (high - low))
  const prose = sliceWithoutRepeating(corpus.prose, random)
  const source = sliceWithoutRepeating(corpus.source, random)
  const shared = { system: prose(4000), tools: makeTools(prose) }
  const lanes = Array.from({ length: between(2, 5) }, () => ({
    ...shared,
    messages: [{ role: 'user', content: prose(between(300, 3000)) }],
    longOutputs: [],
    calls: 0,
  }))
  for (let step = 0; step < steps; step++) {
    const lane = lanes[between(0, lanes.length)]
    const request = encodeRequest(lane, variant, step)
    const answer = prose(between(300, 1500))
    const toolResult = nextToolResult(lane, { random, between, source })
    yield { request, answer, toolResult }
    const id = `call_${step.toString(36).padStart(6, '0')}`
    lane.messages.push(
      {
        role: 'assistant',
        content: answer,
        tool_calls: [
          {
            id,
            type: 'function',
            function: {
              name: `tool_${lane.calls % 8}`,
              arguments: JSON.stringify({ path: `src/part-${lane.calls++}.ts` }),
            },
          },
        ],
      },
      { role: 'tool', tool_call_id: id, content: toolResult },
    )
    if (request.length > COMPACT_AT_BYTES) {
      lane.messages = [
        { role: 'user', content: `Summary of the work so far: ${prose(3000)}` },
        ...lane.messages.slice(-4),
      ]
    }
  }
}

function makeTools(prose) {
  return Array.from({ length: 8 }, (_, index) => ({
    type: 'function',
    function: {
      name: `tool_${index}`,
      description: prose(550),
      parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    },
  }))
}

function nextToolResult(lane, { random, between, source }) {
  if (random() >= 0.07) return source(between(300, 3000))
  if (lane.longOutputs.length === 0 || random() >= 0.3) {
    const output = source(LONG_OUTPUT_LENGTH)
    lane.longOutputs.push(output)
    return output
  }
  const index = between(0, lane.longOutputs.length)
  const earlier = lane.longOutputs[index]
  const at = between(0, earlier.length - 200)
  const edited = earlier.slice(0, at) + source(between(20, 200)) + earlier.slice(at + 100)
  lane.longOutputs[index] = edited
  return edited
}

/** @param {Variant} variant */
function encodeRequest({ system, tools, messages }, variant, step) {
  const time = new Date(Date.UTC(2026, 0, 1) + step * 7919).toISOString()
  const prompt = variant === 'clock' ? `It is ${time}.\n${system}` : system
  return JSON.stringify({
    model: 'gpt-example',
    tools,
    messages: [{ role: 'system', content: prompt }, ...edit(messages, variant)],
  })
}

function edit(messages, variant) {
  if (variant === 'window') return messages.slice(-WINDOW_MESSAGES)
  if (variant !== 'cleared') return messages
  const results = messages.filter(({ role }) => role === 'tool').length
  let result = 0
  return messages.map((message) =>
    message.role === 'tool' && ++result <= results - RESULTS_KEPT
      ? { ...message, content: '[old tool result cleared]' }
      : message,
  )
}
