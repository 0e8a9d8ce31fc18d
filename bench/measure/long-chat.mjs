import { TapeWriter } from '@retake/tape/node'
import { readCorpus, sliceWithoutRepeating } from './corpus.mjs'
import { benchRun } from './recorded-step.mjs'
import { seededRandom } from './random.mjs'

const SYSTEM_LENGTH = 12_000
const TOOLS = 40
const TOOL_LENGTH = 750

/**
 * Writes the tape of one long conversation: a system prompt of 12 KB, tools of 30 KB,
 * about 3.1 KB added by each turn, of which one is a streamed answer that calls a tool,
 * the tool, and its result. Every request repeats the conversation so far, as chat
 * APIs want it.
 *
 * @param {string} path
 * @param {object} options
 * @param {number} options.turns
 * @param {number} options.chunks Pieces that each answer comes in.
 * @param {number} [options.turnsPerConversation] Then a new one begins; one for all unless said.
 * @returns {{ steps: number, events: number, rawBytes: number }} `rawBytes`: all bodies as they were sent and received.
 */
export function writeLongChat(path, { turns, chunks, turnsPerConversation = turns }) {
  const random = seededRandom(280)
  const corpus = readCorpus()
  const prose = sliceWithoutRepeating(corpus.prose, random)
  const source = sliceWithoutRepeating(corpus.source, random)
  const tools = Array.from({ length: TOOLS }, (_, index) => ({
    type: 'function',
    function: { name: `tool_${index}`, description: prose(TOOL_LENGTH), parameters: {} },
  }))
  const beginning = [
    { role: 'system', content: prose(SYSTEM_LENGTH) },
    { role: 'user', content: prose(600) },
  ]
  let messages = [...beginning]
  const writer = TapeWriter.create(path, { ...benchRun, startedAt: Date.now() }, {})
  let [events, rawBytes] = [1, 0]
  const append = (event, text = '') => {
    const body = Buffer.from(text)
    rawBytes += body.length
    events += 1
    return writer.append(event, body)
  }
  for (let turn = 0; turn < turns; turn++) {
    if (turn % turnsPerConversation === 0) messages = [...beginning]
    const answer = prose(900)
    const call = {
      id: `call_${turn}`,
      type: 'function',
      function: {
        name: `tool_${turn % TOOLS}`,
        arguments: JSON.stringify({ path: `src/${turn}` }),
      },
    }
    append({ type: 'draw', kind: 'Date.now', value: turn })
    const op = append(
      {
        type: 'request',
        seam: 'fetch',
        method: 'POST',
        url: 'https://api.openai.com/v1/chat/completions',
        headers: [['content-type', 'application/json']],
        site: '/home/user/agent/src/agent.ts:112:31',
      },
      JSON.stringify({ model: 'gpt-example', stream: true, tools, messages }),
    )
    append({
      type: 'response',
      op,
      status: 200,
      statusText: 'OK',
      headers: [['content-type', 'text/event-stream']],
    })
    for (const delta of deltas(answer, call, chunks))
      append({ type: 'deliver', part: 'chunk', op }, `data: ${JSON.stringify(delta)}\n\n`)
    append({ type: 'deliver', part: 'chunk', op }, 'data: [DONE]\n\n')
    append({ type: 'deliver', part: 'end', op })
    const result = source(1800)
    const tool = append(
      { type: 'call', kind: 'tool', name: call.function.name, as: 'json' },
      call.function.arguments,
    )
    append({ type: 'result', op: tool, as: 'text' }, result)
    messages.push(
      { role: 'assistant', content: answer, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: result },
    )
  }
  append({ type: 'end', exitCode: 0 })
  writer.seal()
  return { steps: turns * 2, events: events + 1, rawBytes }
}

/** The answer in pieces: text, then the tool call, then the count of tokens. */
function* deltas(answer, call, chunks) {
  const size = Math.ceil(answer.length / Math.max(1, chunks - 2))
  const chunk = (rest) => ({
    id: 'chatcmpl-example',
    object: 'chat.completion.chunk',
    created: 1767225600,
    model: 'gpt-example',
    ...rest,
  })
  const choice = (delta, finish_reason = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason }] })
  for (let at = 0; at < answer.length; at += size)
    yield choice({ role: 'assistant', content: answer.slice(at, at + size) })
  yield choice({ tool_calls: [{ index: 0, ...call }] }, 'tool_calls')
  const usage = { prompt_tokens: 9000, completion_tokens: 230, total_tokens: 9230 }
  yield chunk({ choices: [], usage })
}
