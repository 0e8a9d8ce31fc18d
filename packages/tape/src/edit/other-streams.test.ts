import { expect, test } from 'vitest'
import { bedrockEvent } from '../../test-support/event-frame.js'
import { EventScript } from '../../test-support/event-script.js'
import { readRun } from '../read-model/read-run.js'
import { answerPayload } from './answer-payload.js'
import { editedAnswer } from './edited-answer.js'

const NOVA = 'https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-lite-v1%3A0'
const ASK = { messages: [{ role: 'user', content: [{ text: 'hi' }] }] }

test.each([
  [
    'lines of JSON',
    'http://127.0.0.1:11434/api/chat',
    { model: 'm', messages: [] },
    'application/x-ndjson',
    [new TextEncoder().encode('{"done":false}\n\n{"done":true}\n')],
  ],
  [
    "messages of AWS's event stream",
    `${NOVA}/converse-stream`,
    ASK,
    'application/vnd.amazon.eventstream',
    [bedrockEvent('messageStart', { role: 'assistant' }), bedrockEvent('messageStop', {})],
  ],
])('%s are edited as bytes, and keep their type', (_, url, ask, type, pieces) => {
  const tape = new EventScript()
  const op = tape.request(url, ask)
  tape.head(op, { type })
  for (const piece of pieces) tape.chunk(op, piece)
  tape.add({ type: 'deliver', op, part: 'end' })
  const [step] = readRun(tape.end()).steps
  const { deliveries } = editedAnswer(tape, step!, answerPayload(tape, step!))
  const bytes = deliveries.flatMap(({ body }) => [...body])
  expect(bytes).toEqual(pieces.flatMap((piece) => [...piece]))
  expect(deliveries[0]?.event).toMatchObject({ headers: [['content-type', type]] })
})
