import { readCorpus, sliceWithoutRepeating } from './corpus.mjs'
import { seededRandom } from './random.mjs'

export const EVENTS_PER_STEP = 76
const CHUNKS = 66
const STEPS_PER_CONVERSATION = 8
const DRAWS = [
  'Date.now',
  'Math.random',
  'Date.now',
  'crypto.randomUUID',
  'Date.now',
  'Math.random',
]

/** What every tape of a bench starts with. */
export const benchRun = {
  type: 'run',
  id: 'bench',
  name: 'bench',
  startedAt: 0,
  scope: 'function',
  node: process.version,
}

/**
 * One step of an agent as its recorder writes it: 6 draws, a request that adds
 * 3.9 KB to the conversation so far, 66 chunks of an event stream, their end, a
 * tool call and its result. 76 events, 35 KB. A conversation has eight steps.
 *
 * @typedef {object} StepPart
 * @property {import('@retake/tape').NewEvent} event
 * @property {Uint8Array} [body]
 * @property {boolean} [barrier] Something leaves the process, or a result is shown: all so far must be on disk.
 */

/** @returns {(firstSeq: number) => StepPart[]} Builds the next step; its first event gets this number. */
export function stepMaker() {
  const random = seededRandom(76)
  const corpus = readCorpus()
  const prose = sliceWithoutRepeating(corpus.prose, random)
  const source = sliceWithoutRepeating(corpus.source, random)
  let messages = []
  return (firstSeq) => {
    if (messages.length === STEPS_PER_CONVERSATION) messages = []
    messages.push({ role: 'user', content: source(3700) })
    const request = firstSeq + DRAWS.length
    const call = request + CHUNKS + 2
    const value = random()
    return [
      ...DRAWS.map((kind) => ({ event: { type: 'draw', kind, value } })),
      {
        event: {
          type: 'request',
          seam: 'fetch',
          method: 'POST',
          url: 'https://api.openai.example/v1/chat/completions',
          headers: [
            ['authorization', 'retake-hidden'],
            ['content-type', 'application/json'],
            ['user-agent', 'OpenAI/JS 6.49.0'],
          ],
          site: '/home/user/agent/src/agent.ts:112:31',
        },
        body: Buffer.from(JSON.stringify({ model: 'gpt-example', messages })),
        barrier: true,
      },
      ...Array.from({ length: CHUNKS }, () => ({
        event: { type: 'deliver', part: 'chunk', op: request },
        body: Buffer.from(chunkOf(prose(24))),
      })),
      { event: { type: 'deliver', part: 'end', op: request } },
      {
        event: { type: 'call', kind: 'tool', name: 'read_file', as: 'json' },
        body: Buffer.from(JSON.stringify({ path: `src/part-${firstSeq}.ts` })),
        barrier: true,
      },
      {
        event: { type: 'result', op: call, as: 'text' },
        body: Buffer.from(source(4000)),
        barrier: true,
      },
    ]
  }
}

const chunkOf = (content) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-Bp3kX9aQwe7RtYuIoPaSdFgHjKlZx',
    object: 'chat.completion.chunk',
    created: 1767225600,
    model: 'gpt-example',
    service_tier: 'default',
    system_fingerprint: 'fp_3f9a1c77de',
    choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: null }],
  })}\n\n`
